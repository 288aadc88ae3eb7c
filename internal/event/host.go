package event

import (
	"slices"
	"strings"
)

// IsDefaultHost says that the name of a host tells no machine from another: it is empty, machines
// have it before they get their own, or whoever pasted the lines has made it unreadable, as in
// ip-10-xxx-xxx.
func IsDefaultHost(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return slices.Contains([]string{"", "localhost", "(none)", "ubuntu", "debian", "fedora"}, name) || strings.Contains(name, "xxx")
}
