package event

import "slices"

// Kind names what happened, as "component.what": "cri.call",
// "containerd.task-exit", "kubelet.pleg-unhealthy". [Kinds] is all of them;
// rules match on them.
type Kind string

// KindInfo declares a kind: what its events are, and what they carry. Observers,
// the timeline, the rules and the documents all rely on the same declaration.
type KindInfo struct {
	Kind  Kind
	About string // a phrase: "a call of the CRI in containerd, from its begin to its end"
	// IDs are the ids that an event of the kind may carry.
	IDs    []Key
	Fields []FieldInfo
	// Open says that events may carry fields of other names, too: text.
	Open bool
	// Withdrawn are fields that were declared once and that no event ever carried. A rule that asks
	// for one loads with a warning.
	Withdrawn []Key
}

// Kinds is every kind of event, component by component. The slice is shared: do not change it.
func Kinds() []KindInfo { return kinds }

var kinds = slices.Concat(
	kubeletKinds, runtimeKinds, systemdKinds, kernelKinds, nodeKinds, logKinds, commandKinds, collectKinds, threadKinds, goroutineKinds,
)

// KindNamed returns the declaration of a kind, or nil when there is none.
func KindNamed(kind Kind) *KindInfo {
	i := slices.IndexFunc(kinds, func(k KindInfo) bool { return k.Kind == kind })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// Field returns the declaration of a field of the kind, an id that its events
// may carry, or a field of every event. It returns nil when events of the kind never carry it.
func (k *KindInfo) Field(key Key) *FieldInfo {
	named := func(f FieldInfo) bool { return f.Key == key }
	if i := slices.IndexFunc(k.Fields, named); i >= 0 {
		return &k.Fields[i]
	}
	if slices.Contains(k.IDs, key) {
		return idField(key)
	}
	if i := slices.IndexFunc(commonFields, named); i >= 0 {
		return &commonFields[i]
	}
	return nil
}

// Keys are the names of all that [KindInfo.Field] finds.
func (k *KindInfo) Keys() []Key {
	var keys []Key
	for _, f := range k.Fields {
		keys = append(keys, f.Key)
	}
	keys = append(keys, k.IDs...)
	for _, f := range commonFields {
		keys = append(keys, f.Key)
	}
	return keys
}

// LineWatch asks for the log lines that hold a text.
type LineWatch struct {
	Component string // who writes them; empty for anybody
	Literal   string // stands in every such line just as it is written there
}

// Undeclared says what of an event its kind does not declare: "cri.call has no
// field x". It is empty for an event that keeps to the declaration. The tests of
// observers and timeline ask it of every event that they make.
func Undeclared(e *Event) string {
	kind := KindNamed(e.Kind)
	if kind == nil {
		return string(e.Kind) + " is not declared"
	}
	for _, id := range idFields {
		if _, has := e.Get(id.Key); has && !slices.Contains(kind.IDs, id.Key) {
			return string(e.Kind) + " carries no " + string(id.Key)
		}
	}
	for _, f := range e.Fields {
		declared := kind.Field(f.Key)
		switch {
		case declared == nil && !kind.Open:
			return string(e.Kind) + " has no field " + string(f.Key)
		case declared != nil && !declared.Allows(f.Value):
			return string(e.Kind) + ": " + string(f.Key) + " is never " + f.Value.Text()
		}
	}
	return ""
}
