package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// OutputFile is a file that a flag names and a command writes: a report, a profile.
type OutputFile struct {
	Flag  string // that names it, "--report"
	Path  string
	Force bool // an existing file may be overwritten
}

// existsError says that a file is there that must not be overwritten.
type existsError struct{ path string }

// Error is "PATH exists".
func (e *existsError) Error() string { return e.path + " exists" }

// Is implements what [errors.Is] asks for: it is [fs.ErrExist].
func (e *existsError) Is(target error) bool { return target == fs.ErrExist }

// CheckTarget refuses a file that must not be written, before the work begins: nobody should wait
// for an analysis whose report cannot be written. Not even force overwrites an input.
func (f *OutputFile) CheckTarget(inputs []string, stdin io.Reader) error {
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if isInput(info, inputs, stdin) {
		return UsageError("choose another name", "%s %q is an input; inputs are never written to", f.Flag, f.Path)
	}
	if !f.Force {
		return &Failure{Status: StatusFailed, Err: &existsError{f.Path}, Hint: "--force overwrites it"}
	}
	return nil
}

// isInput says whether a command with these inputs reads that file, under whatever name: as an
// input, below a directory that is one, or as what standard input was redirected from.
func isInput(file fs.FileInfo, inputs []string, stdin io.Reader) bool {
	return slices.ContainsFunc(inputs, func(input string) bool {
		if input == "-" {
			redirected, ok := stdin.(*os.File)
			if !ok {
				return false
			}
			info, err := redirected.Stat()
			return err == nil && os.SameFile(file, info)
		}
		info, err := os.Stat(input)
		if err != nil {
			return false // the reader says what is wrong with it
		}
		return os.SameFile(file, info) || info.IsDir() && holdsFile(os.DirFS(input), file)
	})
}

// holdsFile says whether a file lies below a directory. Links are not followed, as the reader of
// inputs follows none.
func holdsFile(dir fs.FS, file fs.FileInfo) (found bool) {
	fs.WalkDir(dir, ".", func(_ string, entry fs.DirEntry, err error) error { //nolint:errcheck // what cannot be walked is not read either
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if found = err == nil && os.SameFile(file, info); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// WriteTarget renders into a temporary file beside the target and then gives it the target's name,
// so that a full disk leaves what was there before, or nothing. Without force an existing file is
// never overwritten, even one made since the check. What is no regular file, as /dev/null, is
// written to directly.
func (f *OutputFile) WriteTarget(render func(io.Writer) error) (err error) {
	target, undo, err := f.reserveTarget()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		out, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(render(out), out.Close())
	}
	out, err := os.CreateTemp(filepath.Dir(target), ".plegdiag-*")
	if err != nil {
		return err
	}
	err = errors.Join(render(out), out.Chmod(info.Mode().Perm()), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), target)
	}
	if err != nil {
		os.Remove(out.Name())
		return fmt.Errorf("%s: not written: %w", f.Path, err)
	}
	return nil
}

// reserveTarget makes sure that the target exists, and returns its name with links followed. Undo
// removes the target if it is new.
func (f *OutputFile) reserveTarget() (target string, undo func(), err error) {
	undo = func() {}
	out, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case err == nil:
		undo = func() { os.Remove(f.Path) }
		err = out.Close()
	case f.Force && errors.Is(err, fs.ErrExist):
		err = nil
	}
	if err != nil {
		return "", undo, err
	}
	target, err = filepath.EvalSymlinks(f.Path)
	return target, undo, err
}
