package event

import "slices"

// Kinds of goroutines and locks in a dump.
const (
	KindLockHeld  Kind = "lock.held"
	KindLockCycle Kind = "lock.cycle"
	KindLockWait  Kind = "lock.wait"
	KindLockQueue Kind = "lock.queue"
	KindGoroutine Kind = "goroutine.wait"
)

// certainty is how sure it is who holds a lock. Of several links, the weakest counts.
var certainty = oneOf(FieldCertainty, "whether the input shows it, or it follows from what the input shows", "observed", "inferred")

// inDump is what every event of a goroutine has.
var inDump = []FieldInfo{
	text(FieldState, "as the dump prints it"),
	length(FieldWait, "how long the goroutine waits, in whole minutes; absent below one"),
	count(FieldCount, "goroutines with this stack, where the dump counts them, as profiles do; absent for one"),
	length(FieldAgain, "for how long an earlier dump shows it waiting for the same"),
	text(FieldCall, "the request that the goroutine serves"),
	text(FieldIDPtr, "address of the container id"),
	text(FieldClient, "address of the ttrpc client"),
	truth(FieldExcerpt, "whether somebody chose the goroutine from a dump or a profile; absent otherwise"),
}

// waitingFor is what a goroutine waits for outside its process.
var waitingFor = []FieldInfo{
	oneOf(FieldDoing, "what the goroutine waits for, by its frames; empty where they do not show it",
		"shim", "ttrpc", "ttrpc-send", "ttrpc-receive", "ttrpc-answer", "load-shim", "sandbox", "containerd", "cri", "docker-api", "runc", "conmon", "container-stop", "stop-channel", "exec", "nsenter", "device-mapper", "grpc",
		"umount", "fsync", "relabel", "file", "file-lock", "mount-command", "udev", "host-compute", "netlink-recv", "cni-daemon", "cni-plugin", "device-plugin", "dbus",
		"bolt-sync", "bolt-lock", "snapshot-gc", "snapshot-lock", "nri-sync", "nri-update", "nri-block", "nri-adaptation", "nri-lock", "nri-plugin", "mount-manager",
		"metrics-add", "metrics-collect", "metrics-lock", "own-lock", "service-lock", "exit-lock", "reap", "reap-lock", "seccomp-pipe", "syscall"),
	text(FieldRPC, "the method that it called there"),
}

// endOfChain is what a chain of goroutines that wait for each other ends in.
var endOfChain = []FieldInfo{
	oneOf(FieldEnds, "what the last goroutine of the chain waits for",
		"rpc", "child process", "syscall", "i/o", "channel", "condition", "lock", "timer", "running", "deadlock"),
	text(FieldEndsIn, "the same in detail, as ttrpc or fsync"),
	text(FieldWaiting, "all of this in words"),
	text(FieldThrough, "the goroutines between, as goroutine 52 → 37"),
}

// The lock, in three fields.
var (
	ofOwner  = text(FieldOwner, "type that owns the lock, as statusStorage")
	lockType = text(FieldLockType, "as sync.RWMutex")
	waiters  = count(FieldWaiters, "goroutines that wait for the lock")
)

// lockWait is what the events of goroutines that wait for a lock have in common.
var lockWait = slices.Concat([]FieldInfo{
	ofOwner,
	oneOf(FieldMode, "how they want the lock", "lock", "read", "write"),
	truth(FieldAddressSure, "whether the address of the lock is certain"),
}, waitingFor, inDump)

var goroutineKinds = []KindInfo{
	{Kind: KindLockHeld, About: "a goroutine that holds a lock for which others wait", IDs: ofLock, Fields: slices.Concat([]FieldInfo{
		ofOwner, lockType, certainty,
		text(FieldRule, "by which its holder was found, R1 to R4"),
		waiters,
		truth(FieldAlone, "whether it is named only because no other goroutine of an excerpt can hold the lock; absent otherwise"),
	}, waitingFor, endOfChain, inDump)},
	{Kind: KindLockCycle, About: "a deadlock: each goroutine waits for a lock that the next one holds", IDs: ofGoroutine, Fields: slices.Concat([]FieldInfo{
		count(FieldMembers, "goroutines in it"),
		text(FieldGoroutines, "as 38 → 54 → 38"),
		certainty,
	}, inDump)},
	{Kind: KindLockWait, About: "a goroutine that waits for a lock whose holder is known", IDs: ofLock, Fields: lockWait},
	{
		Kind: KindLockQueue, About: "goroutines that wait for a lock whose holder the dump does not show; the fields are of the one that has waited longest",
		IDs: ofLock, Fields: slices.Concat([]FieldInfo{lockType, waiters}, lockWait),
	},
	{Kind: KindGoroutine, About: "a goroutine that waits for something outside its process", IDs: ofGoroutine, Fields: slices.Concat(waitingFor, []FieldInfo{
		certainty,
		text(FieldEnds, "of a request that an excerpt shows and that waits for nothing with a name here: what it waits for, as in lock.held"),
		text(FieldEndsIn, "the same in detail; of a goroutine that is stuck in a system call its name"),
	}, inDump)},
}
