package story

// What a story says. Verbs are those of package fmt.
const (
	causeUnknown       = "the evidence does not show the cause"
	causeOfLinkUnknown = "; this bundle does not show what caused that"
	unprovenCause      = "%s may be its cause, but is only %s" // rule, verdict
	sameAsRoot         = "the same as the root, at the same time, in another place"
	possibleCause      = "possible, not proven: "
	contributingOnly   = "no PLEG stall in this bundle; %s"
	nothingFound       = "no PLEG stall and no known signature in this bundle"
	firstSuspect       = "suspect: %s"
	nextCommand        = "; next: "
	nothingRead        = "no line of the inputs could be read; the account of the files says of each why"

	// Of the stall and the node's condition.
	stallStep         = "relist did not complete for %s"
	notReadyStep      = "node NotReady"
	stallHeadline     = "relist stood still %s"
	notReadyHeadline  = ", NotReady from %s"
	oneOfStalls       = " (one of %d stalls)"
	notReadyNoJournal = "NotReady itself was not seen: no kubelet journal in the bundle"
	notReadyNoStall   = "NotReady itself was not seen: the kubelet's journal shows no stall of relist"
	notReadyNotLogged = "NotReady itself was not seen in the kubelet's journal"
	undatedRoot       = "its lines have no time: nothing shows that it belongs to the stall"

	// Of complaints that no stall covers.
	runtimeDown      = "the kubelet says that the container runtime is down: it has not reported ready for 30 s"
	neverRelisted    = "the kubelet has not completed a relist since it started; the log does not show since when"
	undatedComplaint = "%s, in a line without a time"
	startingUpName   = "pleg has yet to be successful"
	startingUp       = "normal in a kubelet's first moments; it was over before the threshold"
)
