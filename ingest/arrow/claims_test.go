package arrow_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/internal/arrowipc"
)

// claim returns a stream of a batch that claims to be of rows, with columns whose
// buffers are all the same place in the body.
func claim(batch arrowipc.Batch, bodyLength int64, body string) []byte {
	number := arrowipc.Type{Kind: arrowipc.Int, Bits: 64, Signed: true}
	file := arrowipc.AppendSchema(nil, &arrowipc.Schema{Fields: []arrowipc.Field{
		{Name: "operation", Type: arrowipc.Type{Kind: arrowipc.Bool}}, {Name: "duration_ns", Type: number},
		{Name: "output_shape", Type: arrowipc.Type{Kind: arrowipc.List}, Children: []arrowipc.Field{{Name: "item", Type: number}}},
	}})
	for len(batch.Nodes) < 4 {
		batch.Nodes = append(batch.Nodes, arrowipc.Node{Length: batch.Rows})
	}
	for len(batch.Buffers) < 8 {
		batch.Buffers = append(batch.Buffers, arrowipc.Span{Length: int64(len(body))})
	}
	return append(arrowipc.AppendRecords(file, &batch, bodyLength), body...)
}

// A few bytes may claim any size: memory is that of what is there.
func TestClaims(t *testing.T) {
	huge := func(size int64) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(size))) + strings.Repeat("x", 32)
	}
	prefix := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, arrow.MaxMetadataBytes)
	for _, test := range []struct {
		name, want string
		file       []byte
	}{
		{"body", "the stream ends within a message", claim(arrowipc.Batch{Rows: 1}, arrow.MaxBodyBytes, "")},
		{"body beyond the limit", "at most 1073741824 are read", claim(arrowipc.Batch{Rows: 1}, arrow.MaxBodyBytes+1, "")},
		{"metadata", "the stream ends within a message", append(claim(arrowipc.Batch{}, 0, ""), prefix...)},
		{"rows", "array of 1099511627776 values in a message of 8 bytes", claim(arrowipc.Batch{Rows: 1 << 40}, 8, "12345678")},
		{"values", "buffer of 8 bytes where 60000 values take 7500", claim(arrowipc.Batch{Rows: 60_000}, 8, "12345678")},
		{"zstd", `column "operation"`, claim(arrowipc.Batch{Rows: 64, Compression: arrowipc.Zstd}, 40, huge(arrow.MaxBufferBytes))},
		{"lz4", "damaged LZ4 frame", claim(arrowipc.Batch{Rows: 64, Compression: arrowipc.LZ4Frame}, 40, huge(arrow.MaxBufferBytes))},
		{"buffer", "at most 268435456 are read", claim(arrowipc.Batch{Rows: 64, Compression: arrowipc.LZ4Frame}, 40, huge(1<<40))},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := read(t, test.file)
			runtime.ReadMemStats(&after)
			if all := strings.Join(append(got.bad, got.fail), "; "); !strings.Contains(all, test.want) {
				t.Errorf("%q, want %q", all, test.want)
			}
			const most = 24 << 20 // of which most are the decoder of zstd
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%d bytes are allocated for %d", n, len(test.file))
			}
		})
	}
}

// Streams are told by their first bytes.
func TestSniff(t *testing.T) {
	stream := write(t, nil, 0)
	for _, test := range []struct {
		name string
		text []byte
		want bool
	}{
		{"stream", stream, true},
		{"beginning of a stream", stream[:100], true},
		{"file", []byte("ARROW1\x00\x00"), true},
		{"text", []byte("ARROW1 is a text"), false},
		{"end of a stream", arrowipc.End(), false},
		{"batch", stream[bytes.LastIndex(stream, []byte{0xff, 0xff, 0xff, 0xff})-8:], false},
		{"nothing", nil, false},
	} {
		if got := arrow.Sniff(test.text); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
