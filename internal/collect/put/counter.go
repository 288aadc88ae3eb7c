package put

import (
	"os"
	"sync/atomic"
)

// counter is a file that counts what is read of it. The transport reads it in a goroutine of its
// own.
type counter struct {
	f *os.File
	n atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.f.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Close implements io.Closer.
func (c *counter) Close() error { return c.f.Close() }

func (c *counter) count() int64 { return c.n.Load() }
