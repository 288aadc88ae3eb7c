// Command lab-fault plays the programs of a node that stop doing their work: a server of a file
// system, a scanner of files, a network plugin. What they leave waiting is real.
//
//	lab-fault fuse DIR          mount a file system at DIR, serve it until SIGUSR1, then lose requests
//	lab-fault scan DIR SECONDS  be asked before a file on DIR's mount is opened, and never answer
//	lab-cni                     a network plugin that works, hangs or crashes, by its configuration
//	loopback                    the network plugin of that name
//
// The first two end when their standard input does, so that nothing waits for them longer than for
// the test that has started them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab-fault:", err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch {
	case name == "lab-cni" || name == "loopback":
		return beNetworkPlugin(name)
	case len(args) == 2 && args[0] == "fuse":
		go endWithInput()
		return serveVolume(args[1])
	case len(args) == 3 && args[0] == "scan":
		seconds, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		go endWithInput()
		return holdFiles(args[1], time.Duration(seconds)*time.Second)
	}
	return errors.New("fuse DIR, or scan DIR SECONDS")
}

// endWithInput ends the program when nobody can write to its standard input any more.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
	os.Exit(0)
}
