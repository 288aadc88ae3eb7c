package event

import "slices"

// Kinds of traces and samples of threads.
const (
	KindSyscall      Kind = "syscall"
	KindConvoy       Kind = "futex.convoy"
	KindBusCall      Kind = "dbus.call"
	KindThreadSample Kind = "thread.sample"
	KindDiskRequest  Kind = "disk.request"
)

// kernelWaits is what a stack, or the one function that a thread sleeps in, says that it waits for.
var kernelWaits = oneOf(FieldWaits, "what the thread waits for in the kernel, where its stack shows it (docs/samples.md says what each value stands for)",
	"freezer", "frozen-fs", "socket", "fanotify", "shrinker", "cgroup", "pid-namespace", "fuse", "automount", "file-server", "memory", "gpu", "page-fault", "sync", "network-lock",
	"rcu", "journal", "disk", "mount-table", "kernfs", "overlay", "path-lookup", "pipe")

// callFields are what traces and samples say of a system call. A call that both
// saw is one event with the fields of both.
var callFields = slices.Concat([]FieldInfo{
	text(FieldName, "of the system call; empty where it is not known"),
	truth(FieldNetlink, "whether it waits for a netlink socket"),
	truth(FieldReturned, "whether it has returned, or a later look did not find the thread in it"),
}, tracedFields, sampledFields)

// tracedFields are what strace shows.
var tracedFields = []FieldInfo{
	text(FieldPath, "that the call works on"),
	truth(FieldRootfs, "whether the path is the root of a container"),
	truth(FieldNetns, "whether it makes a network namespace; absent otherwise"),
	text(FieldResult, "as strace prints it"),
	text(FieldErrno, "as EINVAL"),
	truth(FieldDelayed, "whether strace delayed it"),
	truth(FieldInjected, "whether strace made up its result"),
	text(FieldTester, "what a tester did to the call"),
	truth(FieldBus, "whether it carries D-Bus"),
	length(FieldTook, "as strace measured it"),
	count(FieldWaitsFor, "the blocked thread of a child that it waits for; of PID 1 in samples the process, child of a child, on which its wait rests"),
	text(FieldWaitsIn, "the system call in which that thread is"),
}

// sampledFields are what samples of threads show (docs/samples.md).
var sampledFields = []FieldInfo{
	count(FieldNumber, "of the system call"),
	text(FieldArgs, "registers of the system call"),
	text(FieldMachine, "as x86_64"),
	text(FieldState, "letter of ps; D is uninterruptible"),
	comm,
	text(FieldExe, "base name of the program"),
	truth(FieldKernel, "whether it is a thread of the kernel"),
	text(FieldTarget, "file or connection of the call, or the workqueue"),
	text(FieldWchan, "the kernel function that it sleeps in"),
	text(FieldStack, "kernel functions, outermost first, with blanks between"),
	kernelWaits,
	truth(FieldUnsure, "whether the stack holds frames that the kernel marked with a question mark, as old ones mark all"),
	text(FieldFunction, "of the kernel in which a thread waits that does not move: the one that shows for what, else the innermost"),
	truth(FieldUnmoved, "whether all samples of the file, three at least, found it in that function"),
	text(FieldCgroup, "as written"),
	text(FieldCgroupID, "as written"),
	text(FieldStackID, "as written"),
	text(FieldCallID, "as written"),
	count(FieldSamples, "in which the thread is in that call"),
	length(FieldEvery, "from one sample to the next"),
	length(FieldMost, "how long the call lasted at most"),
	measure(FieldSeconds, "seconds", "for which the kernel's watchdog says that it has not run"),
	truth(FieldWatchdog, "whether the kernel's watchdog for hung tasks printed the stack; absent otherwise"),
	text(FieldWaitsForComm, "the name of that process"),
	count(FieldScans, "of which the samples are a sum"),
}

var threadKinds = []KindInfo{
	{Kind: KindSyscall, About: "a traced system call that took long or never returned", IDs: ofThread, Fields: callFields},
	{Kind: KindThreadSample, About: "a thread in the same system call, in one sample or in several in a row; its duration is a lower bound", IDs: ofThread, Fields: callFields},
	{Kind: KindDiskRequest, About: "a request to a block device that took long", IDs: ofTask, Fields: []FieldInfo{
		text(FieldDevice, "major:minor"),
		measure(FieldBytes, "bytes", "read or written"),
		text(FieldFlags, "as WRITE|SYNC"),
		length(FieldQueued, "before the device got it"),
		length(FieldService, "in the device"),
		count(FieldError, "errno; 0 for none"),
	}},
	{Kind: KindConvoy, About: "a lock that several threads of a process wait for at the end of a trace", IDs: []Key{FieldTID, FieldLock}, Fields: []FieldInfo{
		count(FieldWaiters, "threads that wait"),
		certainty,
		count(FieldHolder, "the only thread of the process that is blocked in something else"),
		text(FieldHolderCall, "the system call in which that thread is"),
	}},
	{Kind: KindBusCall, About: "a call on D-Bus whose answer came late or not at all", IDs: ofTask, Fields: []FieldInfo{
		text(FieldMember, "the method, as StartTransientUnit; AUTH for the handshake of a connection"),
		text(FieldInterface, "as written"),
		text(FieldPath, "of the object, or of the socket for a handshake"),
		text(FieldDestination, "as org.freedesktop.systemd1"),
		oneOf(FieldDirection, "whether the traced process made the call or got it", "sent", "received"),
		count(FieldSerial, "of the message"),
		truth(FieldAnswered, "whether there was an answer"),
		truth(FieldBlocked, "whether the call could not even be sent"),
		text(FieldError, "name of the error that was returned"),
	}},
}
