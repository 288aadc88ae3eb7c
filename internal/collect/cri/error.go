package cri

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
)

// Error is why a call had no result.
type Error struct {
	code connect.Code
	err  error
}

// Error spells an error as crictl and the kubelet do:
//
//	rpc error: code = DeadlineExceeded desc = context deadline exceeded
func (e *Error) Error() string {
	var code strings.Builder
	for word := range strings.SplitSeq(e.code.String(), "_") {
		code.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	text := e.err.Error()
	if said, ok := errors.AsType[*connect.Error](e.err); ok {
		text = said.Message()
	}
	return fmt.Sprintf("rpc error: code = %s desc = %s", code.String(), text)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.err }

// IsSilence says that there was no answer: the deadline ended the call, here or in a runtime that
// was told of it, or there is no connection.
func (e *Error) IsSilence() bool {
	return e.code == connect.CodeDeadlineExceeded || e.code == connect.CodeCanceled || e.code == connect.CodeUnavailable
}

// IsUnknownCall says that the runtime does not have the call, or not the CRI, v1.
func (e *Error) IsUnknownCall() bool { return e.code == connect.CodeUnimplemented }
