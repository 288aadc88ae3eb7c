package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/collect/apiserver"
	"github.com/plegdiag/plegdiag/internal/collect/carry"
	"github.com/plegdiag/plegdiag/internal/collect/put"
)

// nodeOptions say how a node is asked through the API server.
type nodeOptions struct {
	name, kubeconfig, context string
	debugPod                  bool
	image, namespace          string
}

// nodeFlags are flags of collect --node, onNodeFlags those that mean nothing there.
var (
	nodeFlags   = []string{"kubeconfig", "context", "debug-pod", "image", "namespace"}
	onNodeFlags = []string{
		"no-signal", "remove-dumps", "probe-remote", "journal", "kubelet-token", "allow-kill", "strace", "sysrq-w", "socket", "chroot", "lines",
	}
)

func (o *nodeOptions) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&o.name, "node", "", "ask the node `NAME` through the API server, from anywhere, instead of the one this runs on")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "with --node: the kubeconfig `FILE`; kubectl's own choice by default")
	f.StringVar(&o.context, "context", "", "with --node: the context `NAME` of the kubeconfig")
	f.BoolVar(&o.debugPod, "debug-pod", false, "with --node: also collect on the node itself, in a PRIVILEGED pod that is deleted afterwards")
	f.StringVar(&o.image, "image", "", "with --debug-pod: an `IMAGE` whose entrypoint is plegdiag")
	f.StringVar(&o.namespace, "namespace", "", "with --debug-pod: the namespace `NAME` of the pod, which must allow privileged ones")
}

// pluginName is how kubectl finds a plugin, and how it is called then.
const (
	pluginName    = "kubectl-plegdiag"
	pluginDisplay = "kubectl plegdiag"
)

// isPlugin says that kubectl started the program, or somebody under the name that kubectl uses.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName
}

// asPlugin makes a command one of kubectl's: collect takes the node as its argument.
func asPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginDisplay}
}

// takeNode takes the node that is an argument of the plugin. Without the plugin collect has none.
func (o *nodeOptions) takeNode(cmd *cobra.Command, args []string) error {
	plugin := cmd.Root().Annotations[cobra.CommandDisplayNameAnnotation] != ""
	if !plugin {
		return cli.CheckArguments(0, 0, "no argument")(cmd, args)
	}
	if err := cli.CheckArguments(0, 1, "a node")(cmd, args); err != nil {
		return err
	}
	switch {
	case len(args) == 1 && o.name != "":
		return cli.UsageError("leave out one of them", "both --node and an argument name a node")
	case len(args) == 1:
		o.name = args[0]
	case o.name == "":
		return cli.UsageError(pluginDisplay+" collect NODE; on the node itself: plegdiag collect", "no node is named")
	}
	return nil
}

// checkFlags says which flags do not go together.
func (o *nodeOptions) checkFlags(f *pflag.FlagSet) error {
	wrong, hint := nodeFlags, "it needs --node NAME"
	if o.name != "" {
		wrong, hint = onNodeFlags, "it is for plegdiag collect on the node itself"
	}
	for _, name := range wrong {
		if flag := f.Lookup(name); flag != nil && flag.Changed {
			return cli.UsageError(hint, "--%s does not go with this", name)
		}
	}
	return nil
}

// collectThroughAPIServer collects through the API server.
func collectThroughAPIServer(ctx context.Context, o *collectOptions, s cli.Streams) error {
	a := apiserver.Options{
		Node: o.node.name, Kubeconfig: o.node.kubeconfig, Context: o.node.context, DebugPod: o.node.debugPod,
		Image: o.node.image, Namespace: o.node.namespace, Output: o.Output, Force: o.Force, Since: o.Since,
		Timeout: o.Timeout, MaxSize: o.MaxSize, MinFree: o.MinFree, Only: o.Only, Skip: o.Skip, Version: o.Version,
		NoRedact: o.NoRedact, Stdout: o.Stdout,
		Noted: func(item bundle.Item) { noteItem(s.Err, &item, o.json) },
		Said:  func(line string) { cli.Warn(s.Err, "pod: "+line) },
	}
	if o.dryRun {
		if err := apiserver.WritePlan(s.Out, &a); err != nil {
			return cli.UsageError("plegdiag collect --help", "%w", err)
		}
		return nil
	}
	if o.Put != nil {
		if err := put.Check(o.Put); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	sum, err := apiserver.Run(ctx, a)
	if err != nil {
		return err
	}
	cli.Warn(s.Err, fmt.Sprintf("%d bytes: %s", sum.Bytes, countOutcomes(sum.Items)))
	if len(sum.Rights) > 0 {
		cli.Warn(s.Err, "refused to this user: "+strings.Join(sum.Rights, ", ")+"; docs/collect/rbac.yaml has the rights that are needed")
	}
	if sum.Sealed != "" {
		cli.Warn(s.Err, "the bundle is incomplete: "+sum.Sealed)
	}
	if sum.PodLeft != "" {
		cli.Warn(s.Err, sum.PodLeft)
	}
	if sum.Items[bundle.OK]+sum.Items[bundle.Capped] <= 1 { // the README
		return errors.New("nothing could be collected; the bundle says why: " + sum.Path)
	}
	if o.Put == nil {
		return nil
	}
	stop()
	return sendBundle(s, sum.Path, func(ctx context.Context) (put.Report, error) {
		r := *o.Put
		r.Path, r.Agent = sum.Path, "plegdiag/"+o.Version
		return put.Send(ctx, &r), nil
	})
}

// printLines makes a pipe whose content is printed as lines that a log can carry. end waits until
// all of it is.
func printLines(s cli.Streams) (pipe *os.File, end func() error, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan error, 1)
	go func() {
		done <- carry.Encode(r, s.Out)
		r.Close()
	}()
	return w, func() error { return errors.Join(w.Close(), <-done) }, nil
}
