package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// pageOutput lets write write to out, on a terminal through the pager: the program of PAGER, or
// less. Without a pager that starts, and where out is no terminal, it writes to out itself.
func pageOutput(out io.Writer, write func(io.Writer) error) error {
	program := pagerProgram()
	terminal, ok := out.(*os.File)
	if !ok || cli.TerminalWidth(out) == 0 || program == "" {
		return write(out)
	}
	pager := exec.Command("sh", "-c", program) //nolint:gosec,noctx // PAGER is a command line of the user's, and ends when its reader says so
	pager.Stdout, pager.Stderr = terminal, os.Stderr
	if _, chosen := os.LookupEnv("LESS"); !chosen {
		pager.Env = append(os.Environ(), "LESS=FRX") // as git: end on what fits the screen, keep colours, leave the text there
	}
	in, err := pager.StdinPipe()
	if err == nil {
		err = pager.Start()
	}
	if err != nil {
		return write(out)
	}
	text := bufio.NewWriter(in)
	err = errors.Join(write(text), text.Flush(), in.Close())
	failed := pager.Wait()
	if isMissing(failed) {
		return write(out)
	}
	if errors.Is(err, syscall.EPIPE) { // the reader has seen enough
		return nil
	}
	return err
}

// pagerProgram is the command line of the pager; empty where there is none, or where it would do
// nothing.
func pagerProgram() string {
	chosen, ok := os.LookupEnv("PAGER")
	if program := strings.TrimSpace(chosen); ok {
		if program == "cat" {
			return ""
		}
		return program
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less -R"
}

// isMissing says that the shell found no such program, or could not run it.
func isMissing(failed error) bool {
	var exit *exec.ExitError
	return errors.As(failed, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127)
}
