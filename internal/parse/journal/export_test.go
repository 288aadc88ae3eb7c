package journal

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// What a journal file is made of, for the tests that write some and spoil them.
const (
	DataXZ           = dataXZ
	DataLZ4          = dataLZ4
	DataZstd         = dataZstd
	DataPayloadSmall = dataPayloadSmall
	IncompatibleAt   = incompatibleAt
	HeaderMin        = headerMin
	ObjectEntry      = objectEntry
)

// Stored writes a journal of one entry per list of fields, each field compressed by the flag's
// method.
func Stored(t testing.TB, flag byte, compact bool, entries ...[]string) []byte {
	t.Helper()
	file := make([]byte, 272)
	copy(file, Magic)
	binary.LittleEndian.PutUint64(file[headerSizeAt:], uint64(len(file)))
	payload, item := dataPayloadAt, 16
	if compact {
		payload, item = dataPayloadSmall, 4
		binary.LittleEndian.PutUint32(file[incompatibleAt:], compactFlag)
	}
	object := func(kind, flags byte, body []byte) uint64 {
		for len(file)%8 != 0 {
			file = append(file, 0)
		}
		at := uint64(len(file))
		head := make([]byte, objectHead)
		head[0], head[1] = kind, flags
		binary.LittleEndian.PutUint64(head[8:], uint64(objectHead+len(body)))
		file = append(append(file, head...), body...)
		return at
	}
	for n, fields := range entries {
		body := make([]byte, entryItemsAt-objectHead)
		binary.LittleEndian.PutUint64(body[entryRealtimeAt-objectHead:], uint64(1_762_594_200_000_000+n))
		for _, f := range fields {
			data := append(make([]byte, payload-objectHead), squeeze(t, flag, []byte(f))...)
			at := object(objectData, flag, data)
			one := binary.LittleEndian.AppendUint64(nil, at)
			body = append(body, append(one, make([]byte, 8)...)[:item]...)
		}
		object(objectEntry, 0, body)
	}
	return append(file, make([]byte, 64)...)
}

func squeeze(t testing.TB, flag byte, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch flag {
	case dataXZ:
		w, err := xz.NewWriter(&out)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case dataLZ4:
		packed := make([]byte, 8+lz4.CompressBlockBound(len(b)))
		binary.LittleEndian.PutUint64(packed, uint64(len(b)))
		n, err := lz4.CompressBlock(b, packed[8:], nil)
		require.NoError(t, err)
		require.Positive(t, n)
		return packed[:8+n]
	case dataZstd:
		w, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return w.EncodeAll(b, nil)
	default:
		return b
	}
	return out.Bytes()
}
