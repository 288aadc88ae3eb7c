package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
)

func newVersion(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of plegdiag, the Go that built it, and the commit with its date",
		Example: `  plegdiag version
  plegdiag --version`,
		Args: cli.CheckArguments(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return printVersion(s) },
	}
}

func printVersion(s cli.Streams) error {
	_, err := fmt.Fprintln(s.Out, versionLine())
	return err
}

// What the linker stamps into a release (Makefile); empty in other builds. The date is the
// commit's: the same commit gives the same bytes whenever it is built.
var stampedVersion, stampedCommit, stampedDate string

// versionLine is what the command version and the flag --version print.
func versionLine() string {
	line := fmt.Sprintf("plegdiag %s %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	commit, date := cmp.Or(stampedCommit, buildSetting("vcs.revision")), commitDate()
	if commit != "" && date != "" {
		line += fmt.Sprintf(" commit %s of %s", commit, date)
	}
	return line
}

// version is the stamp of a release, or what the Go command stamped into the binary: a tag, a
// pseudo-version of the commit, or "(devel)".
func version() string {
	if stampedVersion != "" {
		return stampedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// commitDate is when the commit was made, in RFC 3339; empty where the build does not know it.
func commitDate() string { return cmp.Or(stampedDate, buildSetting("vcs.time")) }

// buildSetting is what the Go command stamped into the binary under that key, as "vcs.time"; empty
// when it did not.
func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
