package story

import "strings"

// DescribeSource says in words what a list of sources joined by "or" asks for:
// "goroutines.containerd or goroutines.crio" is "the goroutines of containerd or crio".
func DescribeSource(source string) string {
	const goroutines, log = "the goroutines of ", "the log of "
	var said []string
	before := ""
	for part := range strings.SplitSeq(source, " or ") {
		kind, name := "", part
		if words := sourceWords[part]; words != "" {
			name = words
		} else if program, ok := strings.CutPrefix(part, "goroutines."); ok {
			kind, name = goroutines, program
		} else if program, ok := strings.CutSuffix(part, ".log"); ok {
			kind, name = log, program
		}
		if kind != before {
			name = kind + name
		}
		before = kind
		said = append(said, name)
	}
	return strings.Join(said, " or ")
}

// sourceWords are the sources that are neither a log nor the goroutines of a program.
var sourceWords = map[string]string{
	"processes": "a list of the processes", "samples": "samples of the threads",
	"samples.proc": "what /proc says of the threads", "strace": "a trace by strace",
	"units": "the units of systemd", "certificates": "the dates of certificates", "kubernetes": "what kubectl describes", "mounts": "the mounts",
	"node": "files of the node", "udevcookies": "the cookies of udev", "config": "settings", "collect": "a whole bundle of the node",
	"services": "what Windows says of its services",
	"versions": "the versions of the programs", "metrics": "the metrics", "clock.log": "the log of chronyd or ntpd", "cni.log": "the log of the network plugin's daemon", "node.log": "the log of the node", "container.log": "the log of the container", "images": "the names of the pod's images", "pending": "what the pod asks for, and what the nodes have",
}

// What a story says. Verbs are those of package fmt.
const (
	causeOfLinkUnknown = "; this bundle does not show what caused that"
	unprovenCause      = "%s may be its cause, but is only %s" // rule, verdict
	sameAsRoot         = "the same as the root, at the same time, in another place"
	stallUnexplained   = "whether the stall came from it is not shown"
	mayComeFrom        = "it may come from this: %s (%s)" // sentence, verdict
	notReadyNotShown   = "whether NotReady came from it is not shown"
	notReadyToo        = "the node is NotReady as well%s; whether that came from it is not shown" // , from when on
	kubeletDown        = "a node whose kubelet does not start is NotReady"
	alsoSaid           = "%s as well: %s" // verdict, sentence
	downSince          = "The machine has gone down since: look when the trouble comes again. "
	notPLEG            = "not PLEG: "
	earlierEpisode     = "earlier, from %s on: %s (%s)"
	nothingRecognised  = "no line of a kubelet, a runtime, the kernel, systemd, a goroutine dump or a trace; it seems to be %s"
	nothingStuck       = "goroutines whose program nothing tells, and none of them is stuck in what plegdiag knows; it was read as %s"
	anotherKind        = "text of another kind"
	nothingKnown       = "lines of %s, and nothing in them that plegdiag knows, neither trouble nor routine"
	routineOnly        = "only routine"
	momentOf           = ", at %s"
	moreSources        = " and %d more"
	fromThere          = ", from %s on"
	fromTo             = ", from %s to %s"
	andWorkload        = "; of the workload, %s"
	tooLittle          = "%s, and too few lines to say that the node was well"
	showsNoStall       = "; a stall of relist would not show in it"
	restartedOnce      = "; %s was restarted at %s"
	restartedOften     = "; %s was restarted %d times, the last at %s"
	tooFewLines        = "; so few lines do not show that the node stayed well"
	lateForOne         = "every call that ran into its time limit was for container %s: %s" // id, calls
	firstSuspect       = "suspect: %s"
	nothingRead        = "no line of the inputs could be read; the account of the files says of each why"

	// Why a state is what it is.
	stepsSeen        = "every deciding step was seen"
	someStepsSeen    = "not every deciding step was seen"
	tiedByTime       = "every deciding step was seen, but nothing except their times ties them together"
	neverSurer       = "its steps were seen; they make this cause very probable, and cannot prove it"
	signsAndEffect   = "its signs were seen together with what it does"
	onlySigns        = "its signs alone were seen"
	notSeen          = "not seen: %s"
	whatLacks        = "missing: %s"
	speaksAgainst    = "against it: %s"
	mayBeRival       = "it may as well be this: %s"
	noCauseShown     = "nothing that was read shows why"
	signsNameNoCause = "these signs alone name no cause"
	someSpeaksFor    = "something speaks for: %s"

	// Of the stall and the node's condition.
	stallStep           = "relist did not complete for %s"
	notReadyStep        = "node NotReady"
	openCallStep        = "%s has not ended; the cause may have begun before it"
	stallHeadline       = "relist stood still %s"
	runtimeDownHeadline = "the runtime did not answer the kubelet for %s"
	notReadyHeadline    = ", NotReady from %s"
	oneOfStalls         = " (one of %d stalls)"
	oneOfContainers     = " (one of %d containers)"
	notReadyNoJournal   = "NotReady itself was not seen: no kubelet journal in the bundle"
	notReadyNoStall     = "NotReady itself was not seen: the kubelet's journal shows no stall of relist"
	notReadyNotLogged   = "NotReady itself was not seen in the kubelet's journal"
	undatedRoot         = "its lines have no time: nothing shows that it belongs to the stall"

	// Of complaints that no stall covers.
	runtimeDown      = "the kubelet says that the container runtime is down: it has not reported ready for 30 s"
	neverRelisted    = "the kubelet has not completed a relist since it started; the log does not show since when"
	undatedComplaint = "%s, in a line without a time"
	startingUpName   = "pleg has yet to be successful"
	ownLimitName     = "a container out of memory"
	ownLimit         = "it reached the limit of its own cgroup: trouble of its pod, not of the node"
	startingUp       = "normal in a kubelet's first moments; it was over before the threshold"
)
