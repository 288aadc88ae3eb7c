//go:build race

package incident_test

// raced says that the race detector is built in.
const raced = true

// With the race detector, sync.Pool forgets a part of what it is given, so that buffers are made
// again.
func init() { bytesPerFile *= 3 }
