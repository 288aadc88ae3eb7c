package table

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// ErrorOf is what a line gives as its error: klog's err, logrus' error.
func ErrorOf(r *event.Record) string { return r.Value("error", "err") }

// ErrorFields are an error, and whether it is that of a call that ran into its own time limit.
func ErrorFields(reason string) []event.Field {
	return []event.Field{event.FieldError.Text(reason), event.FieldDeadline.Bool(IsDeadline(reason))}
}

// IsDeadline tells a call that ran into its own time limit. Go prints the text
// since context exists; grpc adds the code as number (≤ 1.8) or name. CRI-O says it of the request
// that was sent before, containerd 0.2 (docker up to 17.09) of a start.
func IsDeadline(s string) bool {
	return scan.ContainsAny(s, []string{
		"context deadline exceeded", "DeadlineExceeded", "operation timeout", "requests that are timing out in CRI-O",
		"did not start before the specified timeout",
	}) || isCutDeadline(s)
}

// isCutDeadline tells such an error in a line that a pager, or systemctl status, has cut at the
// width of a terminal ("rpc error: code = DeadlineExc>").
func isCutDeadline(s string) bool {
	for _, mark := range []string{">", "…", "..."} {
		said, cut := strings.CutSuffix(s, mark)
		if !cut {
			continue
		}
		for _, whole := range []string{"code = DeadlineExceeded", "context deadline exceeded"} {
			if i := strings.LastIndex(said, whole[:len("code = De")]); i >= 0 && strings.HasPrefix(whole, said[i:]) {
				return true
			}
		}
	}
	return false
}
