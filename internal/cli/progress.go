package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/schollz/progressbar/v3"
)

// startProgress draws a bar on a terminal while inputs are read: bytes, rate, time left. Elsewhere
// it is silent. Count is for [incident.Inputs]; done takes the bar away.
func startProgress(inputs []string, out io.Writer) (count func(n int), done func()) {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(
		inputSize(inputs),
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(false),
	)
	// A terminal that went away is no reason to stop; the analysis goes on.
	return func(n int) { _ = bar.Add(n) }, func() { _ = bar.Finish() }
}

// inputSize is how many bytes the inputs hold on disk; -1 when not known.
func inputSize(inputs []string) int64 {
	var all int64
	for _, input := range inputs {
		err := filepath.WalkDir(input, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				all += info.Size()
			}
			return err
		})
		if err != nil || input == "-" {
			return -1
		}
	}
	return all
}
