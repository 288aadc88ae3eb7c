package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/redact"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

type redactOptions struct {
	input      string
	output     string
	force      bool
	keyFile    string
	keepBinary bool
	json       bool
}

func newRedact(s cli.Streams) *cobra.Command {
	o := redactOptions{}
	cmd := &cobra.Command{
		Use:   "redact BUNDLE",
		Short: "Replace secrets in a bundle by tokens, before it is passed on",
		Long: `Copy a bundle without its secrets: an archive (tar, zip) or a directory becomes a .tgz, a single file a file. It is what
collect does to all that it reads, for bundles of other programs, too. A value becomes a token, <redacted:3f9c0a1b2d>;
the same value has the same token everywhere in the bundle. Names, order, modes and times of files stay, and every
line keeps its number, so that analyze says of the copy what it says of the bundle. What was replaced before stays.

Files that have no lines (journals of journald, profiles, cores) are left out; an archive inside of the bundle becomes
a directory of its name. stderr says what was replaced, by which rule, and what was left out. No rule knows every
secret: look at the copy before you pass it on.

Without -o the copy is NAME.redacted.tgz in the current directory, of a single file NAME.redacted and the
ending of the file; of stdin it goes to stdout. A name that ends in .zst packs it with zstd.`,
		Example: `  plegdiag redact node-1.tgz -o node-1.clean.tgz
  plegdiag redact - < containerd.log`,
		Args: cli.CheckArguments(1, 1, "a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.input = args[0]
			return redactBundle(cmd.Context(), &o, s)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is stdout")
	f.BoolVar(&o.force, "force", false, "overwrite the file; an input is never overwritten")
	f.StringVar(&o.keyFile, "key", "", "`FILE` with the key of the tokens, at least 16 bytes: the same key gives the same tokens in several bundles")
	f.BoolVar(&o.keepBinary, "keep-binary", false, "keep files without lines, as they are: their secrets stay in them")
	f.BoolVar(&o.json, "json", false, "write the account to stderr as JSON")
	return cmd
}

func redactBundle(ctx context.Context, o *redactOptions, s cli.Streams) error {
	if err := cli.CheckInputs([]string{o.input}); err != nil {
		return err
	}
	if err := o.chooseOutput(); err != nil {
		return err
	}
	key, err := o.readKey()
	if err != nil {
		return err
	}
	options := redact.Options{
		Bundle: bundle.Options{Inputs: []string{o.input}, Stdin: s.In}, Key: key, KeepBinary: o.keepBinary, Output: o.output,
	}
	var account *redact.Account
	copyTo := func(out io.Writer) (err error) {
		account, err = redact.Bundle(ctx, options, out)
		return err
	}
	if o.output == "-" {
		if err := copyTo(s.Out); err != nil {
			return err
		}
		return o.tellAccount(account, s.Err)
	}
	target := cli.OutputFile{Flag: "--output", Path: o.output, Force: o.force}
	if err := target.CheckTarget([]string{o.input}, s.In); err != nil {
		return err
	}
	options.Temp = filepath.Dir(o.output)
	if err := target.WriteTarget(copyTo); err != nil {
		return err
	}
	return o.tellAccount(account, s.Err)
}

// chooseOutput names what is written where the user does not.
func (o *redactOptions) chooseOutput() error {
	switch {
	case o.output == "" && o.input == "-":
		o.output = "-"
	case o.output == "":
		if _, err := os.Stat(o.input); err != nil {
			return err
		}
		o.output = redact.DefaultName(o.input, redact.IsArchive(o.input))
	}
	for _, ending := range []string{".zip", ".xz", ".bz2"} {
		if strings.HasSuffix(o.output, ending) {
			return cli.UsageError("name it .tgz, .tar.zst or .tar", "--output %q: %s is not written", o.output, ending)
		}
	}
	return nil
}

// readKey returns the key of the tokens: that of the user, or a random one.
func (o *redactOptions) readKey() ([]byte, error) {
	const least = 16
	if o.keyFile == "" {
		key := make([]byte, 2*least)
		_, err := rand.Read(key)
		return key, err
	}
	key, err := os.ReadFile(o.keyFile)
	if err != nil {
		return nil, err
	}
	key = bytes.TrimSpace(key)
	if len(key) < least {
		return nil, cli.UsageError("head -c 32 /dev/urandom | base64 > KEY", "--key %s: %d bytes are too few for a key; it needs %d", o.keyFile, len(key), least)
	}
	return key, nil
}

// tellAccount says what was done.
func (o *redactOptions) tellAccount(a *redact.Account, w io.Writer) error {
	if o.json {
		return json.NewEncoder(w).Encode(a)
	}
	rules := slices.DeleteFunc(slices.Collect(maps.Keys(a.ByRule)), func(rule string) bool { return a.ByRule[rule] == 0 })
	slices.SortFunc(rules, func(x, y string) int { return cmp.Or(cmp.Compare(a.ByRule[y], a.ByRule[x]), cmp.Compare(x, y)) })
	text := fmt.Sprintf("replaced %s in %d of %s", show.Plural(a.Values, "value"), a.Changed, show.Plural(a.Files, "file"))
	if len(rules) > 0 {
		for i, rule := range rules {
			rules[i] = fmt.Sprintf("%s %d", rule, a.ByRule[rule])
		}
		text += ": " + strings.Join(rules, ", ")
	}
	cli.Warn(w, text)
	const enough = 300
	for _, f := range a.Notes {
		cli.Warn(w, show.Escape(f.Path+": "+f.Why, enough))
	}
	binary := false
	for _, f := range a.LeftOut {
		cli.Warn(w, show.Escape("left out: "+f.Path+": "+f.Why, enough))
		binary = binary || strings.HasPrefix(f.Why, "binary")
	}
	if binary {
		cli.Warn(w, "hint: --keep-binary keeps what is binary as it is")
	}
	if a.Files == 0 {
		return errors.New("nothing was written: every file was left out")
	}
	return nil
}
