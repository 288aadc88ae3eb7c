//go:build !race

package incident_test

// raced says that the race detector is built in.
const raced = false
