package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/spf13/pflag"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/collect/put"
)

// putVariable is the environment variable that holds the URL of --put.
const putVariable = "PLEGDIAG_PUT_URL"

// putOptions say where the bundle is sent.
type putOptions struct {
	url, file string
	headers   []string
	timeout   time.Duration
}

func (o *putOptions) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&o.url, "put", "", "`URL` to send the bundle to by HTTP PUT, as a presigned one of an object store; also "+putVariable)
	f.StringVar(&o.file, "put-url-file", "", "`FILE` that holds the URL of --put")
	f.StringArrayVar(&o.headers, "put-header", nil, "`HEADER` to send the bundle with, \"Name: value\"; may be repeated")
	f.DurationVar(&o.timeout, "put-timeout", 5*time.Minute, "how long sending the bundle may take")
}

// request is what is sent; nil when the bundle stays here. output is the bundle that was named: one
// that was not is removed once the server has it.
func (o *putOptions) request(output string) (*put.Request, error) {
	r := &put.Request{
		URL: o.url, File: o.file, Headers: o.headers, Timeout: o.timeout, Remove: output == "", Proxies: proxyVariables(),
	}
	if r.URL == "" && r.File == "" {
		r.URL = os.Getenv(putVariable)
	}
	switch {
	case o.url != "" && o.file != "":
		return nil, cli.UsageError("leave out one of them", "both --put and --put-url-file name where to send the bundle")
	case r.URL == "" && r.File == "" && len(o.headers) > 0:
		return nil, cli.UsageError("--put URL", "--put-header without --put")
	case r.URL == "" && r.File == "":
		return nil, nil //nolint:nilnil,nolintlint // there is nothing to send
	case output == "-":
		return nil, cli.UsageError("name a file with -o, or none", "-o - and --put exclude each other: the bundle is sent with its length")
	case o.timeout <= 0:
		return nil, cli.UsageError("as 5m", "--put-timeout must be positive")
	}
	if r.File == "" { // a file is read later: on a sick node that can hang
		if err := put.Check(r); err != nil {
			return nil, cli.UsageError("plegdiag collect --help", "%w", err)
		}
	}
	return r, nil
}

// proxyVariables are what net/http and crypto/x509 read of the environment, for the process that
// sends the bundle: that one gets no other variable.
func proxyVariables() (all []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		for _, spelling := range []string{name, strings.ToLower(name)} {
			if value := os.Getenv(spelling); value != "" {
				all = append(all, spelling+"="+value)
			}
		}
	}
	return all
}

// sendBundle sends a bundle that was written, and says what became of it. A signal ends it; the
// bundle stays then.
func sendBundle(s cli.Streams, path string, send func(ctx context.Context) (put.Report, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := send(ctx)
	if err == nil && report.Error != "" {
		err = errors.New(report.Error)
	}
	if err != nil {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: fmt.Errorf("the bundle was not sent: %w", err),
			Hint: "it is here: " + path,
		}
	}
	text := fmt.Sprintf("sent %d bytes to %s", report.Bytes, report.Host)
	if !report.Removed {
		text += "; the bundle also stays here: " + path
	}
	cli.Warn(s.Err, text)
	return nil
}

// secretFlags are those whose values other users must not see in the list of processes.
var secretFlags = []string{"--put", "--put-header"}

// hideArguments returns a copy of the command line, and overwrites the values of secretFlags where
// the kernel shows them: in the memory that the process was started with, which os.Args points to
// (runtime goargs of Go). The list of processes has them only until then.
func hideArguments(args []string) []string {
	kept := make([]string, len(args))
	for i := range args {
		kept[i] = strings.Clone(args[i])
	}
	for i := range args {
		for _, flag := range secretFlags {
			switch {
			case strings.HasPrefix(args[i], flag+"="):
				overwrite(args[i][len(flag)+1:])
			case i > 0 && kept[i-1] == flag:
				overwrite(args[i])
			}
		}
	}
	return kept
}

// overwrite replaces every byte of a text in place. It must be in memory that can be written.
func overwrite(text string) {
	for i := range len(text) {
		*(*byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(text)), i)) = '*'
	}
}
