package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
)

// textFile is one file of a bundle. Its writer gives the same bytes each time it is called.
type textFile struct {
	path  string
	write func(io.Writer) error
}

// writeBundle writes a gzip'ed tar of files and returns how many bytes of text are in it.
func writeBundle(path string, files []textFile) (text int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip := gzip.NewWriter(f)
	out := tar.NewWriter(zip)
	for _, file := range files {
		var count byteCounter // a tar header says the size before the bytes come
		if err := file.write(&count); err != nil {
			return 0, err
		}
		header := &tar.Header{Name: file.path, Mode: 0o644, Size: int64(count), ModTime: dayStart, Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return 0, err
		}
		if err := file.write(out); err != nil {
			return 0, err
		}
		text += int64(count)
	}
	return text, errors.Join(out.Close(), zip.Close())
}

// byteCounter is a writer that only counts.
type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}
