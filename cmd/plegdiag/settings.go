package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// settings are the flags whose defaults a user may choose, once for all commands that have them.
// They change how text looks: never what is found, and never what programs read.
var settings = []string{"color", "display-tz", "full", "no-pager", "verbose"}

// variableOf is the environment variable of a setting: "PLEGDIAG_COLOR".
func variableOf(setting string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// variables are the environment variables of all settings.
func variables() (names []string) {
	for _, setting := range settings {
		names = append(names, variableOf(setting))
	}
	return names
}

const variablePrefix = "PLEGDIAG_"

// preferences are the defaults that the user chose.
type preferences struct {
	path   string // of the configuration file; empty where the user has no configuration folder
	exists bool
	values map[string]string // of the file, by setting
	wrong  []error           // of the file
}

// maxConfig bounds what is read of the configuration file, in bytes.
const maxConfig = 64 << 10

// loadPreferences reads the configuration file. It lies in the user's configuration folder and
// nowhere else: whoever analyses a bundle must not be configured by it.
func loadPreferences() preferences {
	dir, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(dir) {
		return preferences{}
	}
	p := preferences{path: filepath.Join(dir, "plegdiag", "config.yaml")}
	file, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p
	}
	p.exists = true
	if err != nil {
		p.wrong = append(p.wrong, err)
		return p
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig))
	var read map[string]any
	if err == nil {
		err = yaml.Unmarshal(text, &read)
	}
	if err != nil {
		p.wrong = append(p.wrong, fmt.Errorf("%s: %w", p.path, err))
		return p
	}
	p.takeSettings(read)
	return p
}

// takeSettings takes over what the file says.
func (p *preferences) takeSettings(read map[string]any) {
	p.values = map[string]string{}
	for name, value := range read {
		if slices.Contains(settings, name) {
			p.values[name] = fmt.Sprint(value)
			continue
		}
		p.wrong = append(p.wrong, fmt.Errorf("%s: unknown setting %q; %s", p.path, name, cli.SuggestNames(settings, name, "plegdiag env")))
	}
	slices.SortFunc(p.wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

// findDefault is what the user chose for a setting, and where: the environment counts before the
// file. Source is empty where nothing was chosen.
func (p *preferences) findDefault(setting string) (value, source string) {
	if value := os.Getenv(variableOf(setting)); value != "" {
		return value, variableOf(setting)
	}
	if value, ok := p.values[setting]; ok {
		return value, p.path
	}
	return "", ""
}

// applyPreferences gives flags that were not given the values that the user chose. What is wrong
// with those is no reason to stop: an analysis is more urgent.
func applyPreferences(cmd *cobra.Command, s cli.Streams) {
	has := func(setting string) bool { return cmd.Flags().Lookup(setting) != nil }
	if !slices.ContainsFunc(settings, has) { // collect runs where a home directory may hang
		return
	}
	p := loadPreferences()
	for _, err := range p.wrong {
		cli.Warn(s.Err, err.Error())
	}
	for _, setting := range settings {
		flag := cmd.Flags().Lookup(setting)
		value, source := p.findDefault(setting)
		if flag == nil || flag.Changed || source == "" {
			continue
		}
		if err := setDefault(flag, value); err != nil {
			warnOfSetting(s, flag, value, source, err)
		}
	}
}

// setDefault gives a flag the value that the user chose for it.
func setDefault(flag *pflag.Flag, value string) error {
	if flag.Name == "display-tz" {
		if _, err := cli.ParseZone(flag.Name, value); err != nil {
			return err
		}
	}
	return flag.Value.Set(value)
}

// warnOfSetting says that a value that the user chose is none of that flag.
func warnOfSetting(s cli.Streams, flag *pflag.Flag, value, source string, err error) {
	why := cmp.Or(cli.ExplainNumber(flag.Value.Type(), value), err.Error())
	cli.Warn(s.Err, fmt.Sprintf("%s: %s is not used: %s", source, flag.Name, why))
}

func newEnv(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the settings: defaults of flags, and where they come from",
		Long: `Print the defaults that can be chosen for all commands, their values, and where these come from: the flag itself, an
environment variable PLEGDIAG_*, or the file config.yaml in the folder plegdiag of the user's configuration folder.
A flag on the command line counts before the variable, and that before the file. No file is read from the working
directory. Settings change how text looks: never what is found, and never JSON.`,
		Example: `  plegdiag env
  PLEGDIAG_COLOR=never plegdiag env`,
		Args: cli.CheckArguments(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return printSettings(cmd.Root(), s) },
	}
}

// printSettings prints every setting, its value and where that comes from.
func printSettings(root *cobra.Command, s cli.Streams) error {
	p := loadPreferences()
	for _, err := range p.wrong {
		cli.Warn(s.Err, err.Error())
	}
	file := p.path
	switch {
	case file == "":
		file = "none: there is no configuration folder"
	case !p.exists:
		file += " (not there)"
	}
	_, err := fmt.Fprintf(s.Out, "%-10s %s\n", "file", file)
	for _, setting := range settings {
		flag := findFlag(root, setting)
		value, source := p.findDefault(setting)
		why := source
		if source == "" {
			value, why = flag.DefValue, fmt.Sprintf("default; %s or the file changes it", variableOf(setting))
		} else if wrong := setDefault(flag, value); wrong != nil {
			warnOfSetting(s, flag, value, source, wrong)
			value, why = flag.DefValue, "default"
		}
		_, failed := fmt.Fprintf(s.Out, "%-10s %-8s (%s)\n", setting, value, why)
		err = errors.Join(err, failed)
	}
	for _, name := range unknownVariables() {
		cli.Warn(s.Err, fmt.Sprintf("%s is no setting; %s", name, cli.SuggestNames(variables(), name, "plegdiag env")))
	}
	return err
}

// findFlag is the flag of that name of the first command that has it; nil for none.
func findFlag(cmd *cobra.Command, name string) *pflag.Flag {
	if flag := cmd.Flags().Lookup(name); flag != nil {
		return flag
	}
	for _, sub := range cmd.Commands() {
		if flag := findFlag(sub, name); flag != nil {
			return flag
		}
	}
	return nil
}

// unknownVariables are the names of environment variables that look like settings and are none.
func unknownVariables() (names []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && name != putVariable && name != tokenVariable && !slices.Contains(variables(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
