package event

// KindInfo says what a kind is and what its events carry, for whoever checks or
// explains a rule that asks for them.
type KindInfo struct {
	Kind   Kind
	About  string // "the exit of a container's first process"
	Fields []FieldInfo
	// Open says that events may carry fields of other names, too.
	Open bool
}

// FieldInfo is one field that an event may carry. About is empty where the name says it all.
type FieldInfo struct{ Name, About string }

// CommonFields are what [Event.Get] knows of every kind of event: ids and
// what follows from the event itself, and what the timeline adds.
var CommonFields = []FieldInfo{
	{"container", "id of a container, as long as it was written"},
	{"sandbox", "id of a sandbox"},
	{"pod", "namespace/name"},
	{"pod_uid", ""},
	{"pid", ""},
	{"tid", "a thread"},
	{"goroutine", "number of a goroutine"},
	{"lock", "address of a lock"},
	{"duration", "how long it lasted, a lower bound when open; absent for an instant"},
	{"open", "its end was not seen"},
	{"component", "who did it"},
	{"level", "of the log line"},
	{"source", "the input it was read from"},
	{"repeats", "how many copies of it were folded into one"},
	{"seen_by", "the inputs that saw it, where there are several"},
	{"container_from", "how a goroutine's container was found out"},
}

// KindLogLine is a log line that a rule asks for by its text, where no observer
// makes more of it.
const KindLogLine Kind = "log.line"

// LineWatch asks for the log lines that hold a text.
type LineWatch struct {
	Component string // who writes them; empty for anybody
	Literal   string // stands in every such line just as it is written there
}
