// Walk writes three walks over the threads of the processes that its arguments name,
// in the format of thread samples: what made testdata/threads/vfork.log.gz.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/plegdiag/plegdiag/internal/parse"
)

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for walk := 1; walk <= 3; walk++ {
		if walk > 1 {
			time.Sleep(time.Second)
		}
		must(out.Encode(parse.ThreadWalk{
			Format: parse.ThreadsFormat, Walk: walk, Realtime: time.Now().UTC(), Monotonic: clock(1), Boottime: clock(7),
			BootID: read("/proc/sys/kernel/random/boot_id"), Host: "node-1", Machine: "x86_64", Release: read("/proc/sys/kernel/osrelease"),
		}))
		end := parse.ThreadWalkEnd{Walk: walk}
		for _, pid := range os.Args[1:] {
			tasks, err := filepath.Glob("/proc/" + pid + "/task/[0-9]*")
			must(err)
			for _, dir := range tasks {
				row, ok := thread(dir)
				if !ok {
					end.Vanished++
					continue
				}
				must(out.Encode(row))
				end.Threads++
			}
		}
		end.Monotonic = clock(1)
		must(out.Encode(end))
	}
}

// thread reads the files of /proc/PID/task/TID.
func thread(dir string) (parse.ThreadRow, bool) {
	stat := read(dir + "/stat")
	i, j := strings.Index(stat, "("), strings.LastIndex(stat, ") ")
	if i < 0 || j < i {
		return parse.ThreadRow{}, false
	}
	row := parse.ThreadRow{Comm: stat[i+1 : j], State: stat[j+2 : j+3]}
	row.TID, _ = strconv.Atoi(filepath.Base(dir))
	row.PID, _ = strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(dir))))
	flags, _ := strconv.ParseUint(strings.Fields(stat[j+2:])[6], 10, 64)
	row.Kernel = flags&0x00200000 != 0
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		row.Exe = filepath.Base(exe)
	}
	if row.WChan = read(dir + "/wchan"); row.WChan == "0" {
		row.WChan = ""
	}
	if f := strings.Fields(read(dir + "/syscall")); len(f) > 1 {
		n, _ := strconv.Atoi(f[0])
		row.Syscall = &n
		if len(f) == 9 {
			row.Args = f[1:7]
		}
	}
	stack, err := os.ReadFile(dir + "/stack")
	if err != nil {
		row.Unreadable = map[string]string{"stack": err.(*os.PathError).Err.Error()}
	}
	for line := range strings.Lines(string(stack)) {
		row.Stack = append(row.Stack, strings.TrimPrefix(strings.TrimSpace(line), "[<0>] "))
	}
	for line := range strings.Lines(read(dir + "/cgroup")) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			row.Cgroup = strings.TrimSpace(path)
		}
	}
	return row, true
}

func read(file string) string {
	b, _ := os.ReadFile(file)
	return strings.TrimSpace(string(b))
}

func clock(id uintptr) float64 {
	var ts syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return float64(ts.Nano()) / 1e9
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
