package ingest_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
)

// Damaged files of binary and compressed formats never read as empty without a word.
func TestS4Mutants(t *testing.T) {
	sample := func(path string) []byte {
		return check.Must(os.ReadFile(path))(t)
	}
	entries := written(t, optrace.FormatEntries)
	for name, text := range map[string][]byte{
		"Kineto, gzip":               gzipOf(t, sample("kineto/testdata/train.json")),
		"Perfetto":                   sample("perfetto/testdata/kineto.pftrace"),
		"OTLP protobuf":              written(t, optrace.FormatOTLPProto),
		"OTLP protobuf of Collector": sample("otlp/testdata/gate_off/traces.pb"),
		"OTLP protobuf, zstd frames": sample("otlp/testdata/gate_off/traces.pb.zst"),
		"OTLP JSON, zstd frames":     sample("otlp/testdata/gate_off/traces.jsonl.zst"),
		"OTLP protobuf, one message": message(written(t, optrace.FormatOTLPProto)),
		"entries, gzip":              gzipOf(t, entries),
		"entries, zstd":              zstdOf(t, entries),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optest.Mutants(t, cases.Count(t, 100, 3000), text, func(text []byte) optest.Found {
				return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
			})
		})
	}
}

func gzipOf(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	check.Must(z.Write(text))(t)
	check.OK(t, z.Close())
	return b.Bytes()
}

// message returns the messages of frames, one behind the other, which are one message.
func message(frames []byte) (text []byte) {
	for len(frames) > 0 {
		end := 4 + int(binary.BigEndian.Uint32(frames))
		text = append(text, frames[4:end]...)
		frames = frames[end:]
	}
	return text
}

func zstdOf(t *testing.T, text []byte) []byte {
	t.Helper()
	z := check.Must(zstd.NewWriter(nil))(t)
	return z.EncodeAll(text, nil)
}
