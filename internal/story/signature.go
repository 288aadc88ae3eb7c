package story

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Bounds of a signature: it is for comparing incidents, not for reading them.
const (
	maxSignature     = 64 // words
	maxWordsOfKind   = 8
	maxSignatureWord = 80 // bytes
)

// tellingFields are, by kind of event, the fields that tell one from another of its kind on every
// node alike: no ids, no names of pods or hosts.
var tellingFields = map[event.Kind][]event.Key{
	event.KindCRICall: {event.FieldMethod}, event.KindCRIError: {event.FieldMethod},
	event.KindLockHeld: {event.FieldOwner, event.FieldEnds}, event.KindLockWait: {event.FieldOwner}, event.KindLockQueue: {event.FieldOwner},
	event.KindGoroutine: {event.FieldDoing}, event.KindThreadSample: {event.FieldWaits}, event.KindProcess: {event.FieldState, event.FieldWaits},
	event.KindSyscall: {event.FieldName}, event.KindBusCall: {event.FieldMember},
	event.KindHungTask: {event.FieldComm}, event.KindKernelFrame: {event.FieldSymbol}, event.KindServerSilent: {event.FieldProtocol},
	event.KindNodeCondition: {event.FieldCondition}, event.KindKubeEvent: {event.FieldReason},
}

// byProgram are the kinds of events of which it also counts what program they are of.
var byProgram = []event.Kind{event.KindGoroutine, event.KindThreadSample, event.KindProcess, event.KindCollectRPC}

// Signature is what an incident shows, in sorted words that are the same on every node, so that
// incidents without a known cause can be compared: "phase:pod", "lock.held:statusStorage:rpc",
// "cri.call:StopPodSandbox", "harmless:NAME". Empty where only routine was seen.
func Signature(tl *timeline.Timeline, r *Result) []string {
	words := map[string]bool{}
	for i := range tl.Stalls {
		words["phase:"+string(tl.Stalls[i].Phase)] = true
	}
	for _, h := range r.Harmless {
		words[signatureWord("harmless", h.Name)] = true
	}
	stalled := len(tl.Stalls) > 0
	begun, ofKind := findBegun(tl), map[event.Kind]int{}
	for _, e := range tl.Events {
		if isRoutine(e) && e.Kind != event.KindKernelFrame || e.Kind == event.KindFact || stalled && isOfStall(e) || begun.isOver(e) || ofKind[e.Kind] == maxWordsOfKind {
			continue
		}
		var parts []string
		if e.Component != "" && slices.Contains(byProgram, e.Kind) {
			parts = append(parts, e.Component)
		}
		for _, field := range tellingFields[e.Kind] {
			if text := e.FieldText(field); text != "" {
				parts = append(parts, text)
			}
		}
		if word := signatureWord(string(e.Kind), parts...); !words[word] {
			words[word] = true
			ofKind[e.Kind]++
		}
	}
	all := slices.Sorted(maps.Keys(words))
	return all[:min(len(all), maxSignature)]
}

// Numbers of CPUs and of threads, as in kworker/3:1, are no part of a word; digits of a name, as in
// ext4_sync_fs, are.
var (
	number   = regexp.MustCompile(`\b[0-9]+\b`)
	unworthy = regexp.MustCompile(`[^A-Za-z0-9_.:/*()-]+`)
)

// signatureWord makes a word of a kind and what tells it from others. What a log holds is made
// plain.
func signatureWord(kind string, parts ...string) string {
	all := []string{kind}
	for _, part := range parts {
		all = append(all, strings.Trim(unworthy.ReplaceAllString(number.ReplaceAllString(part, "N"), "-"), "-"))
	}
	word := strings.Join(all, ":")
	return word[:min(len(word), maxSignatureWord)]
}
