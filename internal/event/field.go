package event

import (
	"slices"
	"strings"
)

// Key is the name of a field, an id, or what else [Event.Get] knows of an event.
type Key string

// FieldInfo declares a field that an event may carry.
type FieldInfo struct {
	Key  Key
	Type Type
	// Unit is what a number counts or measures: "bytes". It is empty for a count
	// of what About names. Durations are in seconds where a number is wanted.
	Unit string
	// Values are all that a text may be. Of a number they are the words that may
	// stand in its place. Nil means that any text will do, and no word.
	Values []string
	About  string // what it holds
}

// Type is what the values of a field are.
type Type uint8

// The types of values, as the constructors of [Value] make them.
const (
	TypeText Type = iota
	TypeNumber
	TypeDuration
	TypeBoolean
)

var typeNames = [...]string{"text", "number", "duration", "boolean"}

// String is the type's name in documents and JSON: "text", "number", "duration", "boolean".
func (t Type) String() string { return typeNames[t] }

// Allows says whether an event may carry the value in that field. An empty text
// means that the value is not known, and is allowed wherever text is.
func (f *FieldInfo) Allows(v Value) bool {
	switch v.kind {
	case isString:
		if f.Type == TypeText && (f.Values == nil || v.s == "") {
			return true
		}
		return slices.Contains(f.Values, v.s)
	case isNumber:
		return f.Type == TypeNumber
	case isDuration:
		return f.Type == TypeDuration
	default:
		return f.Type == TypeBoolean
	}
}

// Describe is what the field holds, with its unit and the values that it may have:
// "as ListContainers", "of an answer that was too large; in bytes", "the protocol; one of nfs".
func (f *FieldInfo) Describe() string {
	words := f.About
	if f.Unit != "" {
		words += "; in " + f.Unit
	}
	switch {
	case f.Values == nil:
		return words
	case f.Type == TypeText:
		return words + "; one of " + strings.Join(f.Values, ", ")
	}
	return words + "; or " + strings.Join(f.Values, ", ")
}

// text declares a field that holds any text.
func text(key Key, about string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeText, About: about}
}

// oneOf declares a field that holds one of the values.
func oneOf(key Key, about string, values ...string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeText, Values: values, About: about}
}

// count declares a field that holds a number without a unit.
func count(key Key, about string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeNumber, About: about}
}

// measure declares a field that holds a number of units.
func measure(key Key, unit, about string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeNumber, Unit: unit, About: about}
}

// length declares a field that holds a duration.
func length(key Key, about string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeDuration, About: about}
}

// truth declares a field that says whether something is so.
func truth(key Key, about string) FieldInfo {
	return FieldInfo{Key: key, Type: TypeBoolean, About: about}
}

// IDFields are the ids that events carry; [KindInfo.IDs] says which. The slice is
// shared: do not change it.
func IDFields() []FieldInfo { return idFields }

var idFields = []FieldInfo{
	text(FieldContainer, "id of a container, as long as it was written"),
	text(FieldSandbox, "id of a sandbox"),
	text(FieldPod, "namespace/name of a pod"),
	text(FieldPodUID, "uid of a pod"),
	count(FieldPID, "id of the process that the event is about, else of the one that wrote the line"),
	count(FieldTID, "id of a thread"),
	count(FieldGoroutine, "number of a goroutine"),
	text(FieldLock, "address of a lock"),
}

func idField(key Key) *FieldInfo {
	i := slices.IndexFunc(idFields, func(f FieldInfo) bool { return f.Key == key })
	return &idFields[i]
}

// IsReserved says whether a name is the one of an id or of a field of every event, so
// that it cannot be taken from a log line.
func IsReserved(key Key) bool {
	named := func(f FieldInfo) bool { return f.Key == key }
	return slices.ContainsFunc(idFields, named) || slices.ContainsFunc(commonFields, named)
}

// CommonFields are the fields of every kind: what [Event.Get] works out of the
// event itself, and what the timeline adds. The slice is shared: do not change it.
func CommonFields() []FieldInfo { return commonFields }

var commonFields = []FieldInfo{
	length(FieldDuration, "from start to end, a lower bound while open; absent for an instant"),
	truth(FieldOpen, "whether its end was not seen"),
	text(FieldComponent, "who did it, as containerd"),
	oneOf(FieldLevel, "how serious the writer found the line", levelNames[Trace:]...),
	text(FieldSource, "the input it was read from, as containerd.log"),
	count(FieldRepeats, "how many lines it stands for: copies of it, the same again and again, or the same of other containers whose lives were ordinary"),
	truth(FieldQuoted, "whether its line has no header of a log, and has the words in a cell of a table or as code behind other words; absent otherwise"),
	text(FieldSeenBy, "the inputs that saw it, where there are several"),
	text(FieldContainerFrom, "how the container of a goroutine or thread was found out"),
}

// Which ids the events of many kinds carry.
var (
	ofLine      = []Key{FieldPID} // of a log line that names nothing else
	ofContainer = []Key{FieldContainer, FieldPID}
	ofPod       = []Key{FieldPod, FieldPID}
	ofPodUID    = []Key{FieldPodUID, FieldPID}
	ofThread    = []Key{FieldContainer, FieldPID, FieldTID}
	ofTask      = []Key{FieldPID, FieldTID} // in a line of the kernel
	ofGoroutine = []Key{FieldContainer, FieldSandbox, FieldPod, FieldGoroutine}
	ofLock      = []Key{FieldContainer, FieldSandbox, FieldPod, FieldGoroutine, FieldLock}
)
