package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// unable skips a test that cannot run here. PLEGDIAG_GATE says that every test can, as in .ci/run:
// there it fails.
func unable(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("PLEGDIAG_GATE") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// tool is the path of a program that a test needs.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin", "/sbin", "/usr/lib/systemd", "/lib/systemd"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	unable(t, "needs %s", name)
	return ""
}
