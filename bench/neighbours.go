package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// neighbour is another program, beside the command of plegdiag that answers the same of the same
// file.
type neighbour struct {
	asked       string
	other, ours *contestant
}

// The questions of the neighbours.
const (
	lnavQuery = `;SELECT count(*) FROM all_logs WHERE log_text LIKE '%PLEG is not healthy%'`
	// countCalls is what strace -c prints, made of a trace that was written to a file.
	countCalls = `match($0, /[a-z0-9_]+\(/) { name = substr($0, RSTART, RLENGTH - 1); calls[name]++ }
match($0, /<[0-9.]+>$/) { seconds[name] += substr($0, RSTART + 1, RLENGTH - 2) }
END { for (name in calls) print name, calls[name], seconds[name] }`
)

// measureNeighbours compares with programs that do a part of the same: lnav searches the logs for
// one text, awk counts the calls of a trace, gostackparse parses a goroutine dump.
func (o *options) measureNeighbours(out io.Writer, program, dir string) error {
	logs, err := o.writeNeighbourLogs(filepath.Join(dir, "logs"))
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(dir, "logs"))
	trace := filepath.Join(dir, "shim.strace")
	if err := writeTrace(trace, o.trace*mega, o.seed); err != nil {
		return err
	}
	defer os.Remove(trace)
	home := []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir} // lnav keeps files there
	all := []neighbour{
		{
			"logs of a node that flaps",
			&contestant{name: "lnav, one LIKE", args: append([]string{"lnav", "-n", "-c", lnavQuery}, logs...), env: home},
			&contestant{name: "analyze", args: append([]string{program, "analyze"}, logs...)},
		},
		{
			"strace output",
			&contestant{name: "awk, as strace -c", args: []string{"awk", countCalls, trace}},
			&contestant{name: "syscalls", args: []string{program, "syscalls", trace}},
		},
	}
	var missed error
	for _, n := range all {
		missed = errors.Join(missed, o.compareNeighbours(out, n))
	}
	return errors.Join(missed, o.compareStackParsers(out))
}

// writeNeighbourLogs writes the logs of the shape flapping as files; lnav reads no archive of them.
func (o *options) writeNeighbourLogs(dir string) (paths []string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	for i, file := range shapes[0].files(shapes[0].sizeFor(o), o.seed) {
		path := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(file.path)))
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(file.write(f), f.Close()); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (o *options) compareNeighbours(out io.Writer, n neighbour) error {
	if _, err := exec.LookPath(n.other.args[0]); err != nil {
		return fmt.Errorf("neighbours: %w", err)
	}
	if err := runInTurns(o.runs, n.other, n.ours); err != nil {
		return err
	}
	ratio := n.ours.timesAs(n.other)
	for _, c := range []*contestant{n.other, n.ours} {
		fmt.Fprintf(out, "%-26s %-18s %7.3f s  peak RSS %d MB\n", n.asked, c.name, median(c.times).Seconds(), c.rss/1e6)
	}
	return checkMost(n.ours.name+" by "+n.other.name, ratio, o.mostNeighbours)
}

// parserRate is a line of the benchmark in internal/stackdump/compare.
var parserRate = regexp.MustCompile(`parser=(\w+)\S*\s.*?([0-9.]+) MB/s`)

// compareStackParsers runs the benchmark that parses one goroutine dump with both parsers.
func (o *options) compareStackParsers(out io.Writer) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchtime", strconv.Itoa(o.runs)+"x")
	cmd.Dir = filepath.Join("internal", "stackdump", "compare")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	rates := map[string]float64{}
	for _, m := range parserRate.FindAllStringSubmatch(string(text), -1) {
		if rates[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-26s %-18s %5.0f MB/s\n", "a goroutine dump of 50 MB", m[1], rates[m[1]])
	}
	if faster := rates["stackdump"] / rates["gostackparse"]; !(faster >= o.leastParser) {
		return fmt.Errorf("stackdump is %.2f times as fast as gostackparse, less than %.2f", faster, o.leastParser)
	}
	return nil
}
