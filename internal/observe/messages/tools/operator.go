package tools

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Operator is what sudo logs.
var Operator = table.Table{Component: daemon.Operator, Rows: []table.Row{
	{[]string{"COMMAND="}, operatorCommand},
	{[]string{"fsfreeze", "xfs_freeze"}, fileSystemFrozen},
}}

// orders are words of commands that end a daemon, of systemctl, service and kill.
var orders = []string{" restart", " stop ", " kill", "/kill", "/pkill"}

// operatorCommand is somebody who restarts, stops or kills a daemon, as sudo logs it:
//
//	alice : TTY=pts/0 ; PWD=/home/alice ; USER=root ; COMMAND=/usr/bin/systemctl restart containerd
func operatorCommand(r *event.Record) (event.Event, bool) {
	who, rest, ok := strings.Cut(r.Message(), " : ")
	_, command, found := strings.Cut(rest, "COMMAND=")
	words := strings.Fields(command)
	if !ok || !found || len(words) < 3 || !scan.ContainsAny(command, orders) {
		return event.Event{}, false
	}
	for _, word := range words[1:] {
		if name := daemon.Named(strings.TrimSuffix(word, ".service")); name != "" {
			who = strings.TrimSpace(who)
			return event.New(
				event.KindOperator, who+" runs "+strings.Join(words, " "), event.FieldUser.Text(who),
				event.FieldCommand.Text(strings.Join(words, " ")), event.FieldDaemon.Text(name),
			), true
		}
	}
	return event.Event{}, false
}
