package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// logs writes a line as klog's structured functions do:
//
//	E1120 18:28:40.120000    1234 generic.go:205] "GenericPLEG: Unable to retrieve pods" err="…"
func writeLog(severity byte, at, message string, pairs ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "%c%s %7d %s] %q", severity, time.Now().Format("0102 15:04:05.000000"), os.Getpid(), at, message)
	for i := 0; i+1 < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case error:
			fmt.Fprintf(&b, " %s=%q", pairs[i], v.Error())
		case string:
			fmt.Fprintf(&b, " %s=%q", pairs[i], v)
		default:
			fmt.Fprintf(&b, " %s=%+v", pairs[i], v)
		}
	}
	fmt.Fprintln(os.Stderr, b.String())
}
