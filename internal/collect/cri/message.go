package cri

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Messages are read field by field, by the numbers of api.proto
// (k8s.io/cri-api/pkg/apis/runtime/v1). Fields that nobody asked for are left out.

// field is a field of a message: a number, or the bytes of a text or of a message in it.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

// message is made of its fields, in their order.
type message interface{ take(f field) error }

// readMessage gives a message its fields.
func readMessage(text []byte, m message) error {
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return protowire.ParseError(n)
		}
		text = text[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(text)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(text)
		default:
			n = protowire.ConsumeFieldValue(number, kind, text)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		text = text[n:]
		if err := m.take(f); err != nil {
			return err
		}
	}
	return nil
}

// codec is protobuf for the messages here.
type codec struct{}

// Name implements [connect.Codec].
func (codec) Name() string { return "proto" }

// Marshal implements [connect.Codec].
func (codec) Marshal(from any) ([]byte, error) {
	r, ok := from.(*request)
	if !ok {
		return nil, fmt.Errorf("%T is no request", from)
	}
	if r.id == "" {
		return nil, nil
	}
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), r.id), nil
}

// Unmarshal implements [connect.Codec].
func (codec) Unmarshal(text []byte, to any) error {
	m, ok := to.(message)
	if !ok {
		return fmt.Errorf("%T is no message", to)
	}
	return readMessage(text, m)
}

// request is any request: an id, where it is about one thing.
type request struct{ id string }

type version Version

func (v *version) take(f field) error {
	switch f.number {
	case 1:
		v.Version = string(f.bytes)
	case 2:
		v.RuntimeName = string(f.bytes)
	case 3:
		v.RuntimeVersion = string(f.bytes)
	case 4:
		v.RuntimeAPIVersion = string(f.bytes)
	}
	return nil
}

// status is a StatusResponse, its RuntimeStatus and the conditions in it.
type status struct{ conditions []Condition }

func (s *status) take(f field) error {
	if f.number == 1 {
		return readMessage(f.bytes, (*conditions)(&s.conditions))
	}
	return nil
}

type conditions []Condition

func (c *conditions) take(f field) error {
	if f.number != 1 {
		return nil
	}
	*c = append(*c, Condition{})
	return readMessage(f.bytes, (*condition)(&(*c)[len(*c)-1]))
}

type condition Condition

func (c *condition) take(f field) error {
	switch f.number {
	case 1:
		c.Type = string(f.bytes)
	case 2:
		c.Status = f.value != 0
	case 3:
		c.Reason = string(f.bytes)
	case 4:
		c.Message = string(f.bytes)
	}
	return nil
}

// list is a ListContainersResponse or a ListPodSandboxResponse, which have ids at the same place.
type list struct{ ids []string }

func (l *list) take(f field) error {
	if f.number != 1 {
		return nil
	}
	var entry texts
	err := readMessage(f.bytes, &entry)
	l.ids = append(l.ids, entry[1])
	return err
}

// texts are the first fields of a message that begins with texts: an id, the pair of a map.
type texts [4]string

func (t *texts) take(f field) error {
	if int(f.number) < len(t) {
		t[f.number] = string(f.bytes)
	}
	return nil
}

// sandboxStatus is a PodSandboxStatusResponse, containerStatus a ContainerStatusResponse.
type (
	sandboxStatus   struct{ inner sandbox }
	containerStatus struct{ inner container }
)

func (s *sandboxStatus) take(f field) error {
	if f.number == 1 {
		return readMessage(f.bytes, &s.inner)
	}
	return nil
}

func (s *containerStatus) take(f field) error {
	if f.number == 1 {
		return readMessage(f.bytes, &s.inner)
	}
	return nil
}

// sandbox is a PodSandboxStatus.
type sandbox Sandbox

func (s *sandbox) take(f field) (err error) {
	switch f.number {
	case 2:
		var metadata texts
		err = readMessage(f.bytes, &metadata)
		s.Pod, s.UID, s.Namespace = metadata[1], metadata[2], metadata[3]
	case 3:
		s.State = SandboxState(f.value)
	}
	return err
}

// container is a ContainerStatus.
type container Container

func (c *container) take(f field) (err error) {
	var inner texts
	switch f.number {
	case 2:
		err = readMessage(f.bytes, &inner)
		c.Name = inner[1]
	case 3:
		c.State = ContainerState(f.value)
	case 4:
		c.Created = int64(f.value) //nolint:gosec // so protobuf writes an int64
	case 12:
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		err = readMessage(f.bytes, &inner)
		c.Labels[inner[1]] = inner[2]
	}
	return err
}

// SandboxState is the state of a sandbox.
type SandboxState uint64

// String spells it as the CRI does.
func (s SandboxState) String() string {
	return stateName(uint64(s), "SANDBOX_READY", "SANDBOX_NOTREADY")
}

// ContainerState is the state of a container.
type ContainerState uint64

// String spells it as the CRI does.
func (s ContainerState) String() string {
	return stateName(uint64(s), "CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED", "CONTAINER_UNKNOWN")
}

// stateName is the name of state n; its number where the state is newer than this program.
func stateName(n uint64, names ...string) string {
	if n < uint64(len(names)) {
		return names[n]
	}
	return strconv.FormatUint(n, 10)
}
