package lines

// Names keeps one copy of each unit and host name.
type Names struct {
	all  map[string]string
	last string
}

// MaxNames bounds the memory a hostile file can take; a node has some hundred units.
const MaxNames = 4096

// Intern is b as a string, the same one for the same bytes.
func (n *Names) Intern(b []byte) string {
	if string(b) == n.last {
		return n.last
	}
	s, ok := n.all[string(b)]
	if !ok {
		if n.all == nil || len(n.all) >= MaxNames {
			n.all = make(map[string]string)
		}
		s = string(b)
		n.all[s] = s
	}
	n.last = s
	return s
}
