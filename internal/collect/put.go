//go:build linux

package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plegdiag/plegdiag/internal/collect/put"
)

// checkBound is how long it may take to read the file that holds the URL of put.
const checkBound = 5 * time.Second

// putMargin is how much longer than its own limit the helper that sends a bundle can take.
const putMargin = 2 * time.Second

// checkPut says what is wrong with where the bundle is to be sent, before anything is collected.
func checkPut(ctx context.Context, opt *Options) error {
	if opt.Put == nil {
		return nil
	}
	r, err := runPut(ctx, opt, &task{Do: "put", Put: opt.Put, Count: 1}, checkBound)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return err
}

// Send sends a bundle that Run has written to where Options.Put says. A helper does it: the disk
// that the bundle is read from can hang. The report says why it failed; the error is that of the
// helper.
func Send(ctx context.Context, opt *Options, path string) (put.Report, error) {
	r := *opt.Put
	r.Path, r.Agent = path, "plegdiag/"+opt.Version
	return runPut(ctx, opt, &task{Do: "put", Put: &r}, r.Timeout+putMargin)
}

// runPut lets a helper check where a bundle is to be sent, or send it.
func runPut(ctx context.Context, opt *Options, t *task, bound time.Duration) (put.Report, error) {
	ch, err := startHelper(opt.Helper, t, bound)
	if err != nil {
		return put.Report{}, err
	}
	defer ch.out.Close()
	_ = ch.out.SetReadDeadline(moment().Add(bound)) // a pipe of os.Pipe always can
	stop := context.AfterFunc(ctx, func() { _ = ch.out.SetReadDeadline(moment()) })
	defer stop()
	var report put.Report
	err = json.NewDecoder(ch.out).Decode(&report)
	select {
	case <-ch.waited:
	case <-time.After(killGrace):
		blocked, left := ch.stop()
		if err != nil && left {
			return report, fmt.Errorf("who should send it is stuck in %s", cmp.Or(blocked.wchan, "no known function"))
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return report, errors.New("interrupted")
	case err != nil:
		return report, fmt.Errorf("no answer in %s", bound)
	}
	return report, nil
}

// sendBundle is the helper's part.
func sendBundle(t *task, out io.Writer) error {
	var report put.Report
	if t.Count > 0 {
		if err := put.Check(t.Put); err != nil {
			report.Error = err.Error()
		}
	} else {
		report = put.Send(context.Background(), t.Put)
	}
	return json.NewEncoder(out).Encode(&report)
}
