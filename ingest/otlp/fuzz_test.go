package otlp_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// fuzzReader checks that whatever a reader accepts is valid, and reads back
// from entries JSON Lines as it was.
func fuzzReader(t *testing.T, r reader, text []byte) {
	t.Helper()
	all := new(attr.Mapping)
	all.KeepAll()
	for _, m := range []*attr.Mapping{nil, all} {
		fuzzReaderWith(t, r, text, m)
	}
}

func fuzzReaderWith(t *testing.T, r reader, text []byte, m *attr.Mapping) {
	t.Helper()
	for rec, err := range r(bytes.NewReader(text), "fuzz", m) {
		var syntax *op.SyntaxError
		if err != nil {
			if !errors.As(err, &syntax) {
				t.Fatalf("a fatal error from a source that did not fail: %v", err)
			}
			if syntax.Offset < 0 || syntax.Line < 0 || syntax.Msg == "" {
				t.Fatalf("error without a position or message: %#v", syntax)
			}
			continue
		}
		if s := rec.Span; s != nil {
			line := s.AppendJSON(nil)
			again, err := entries.DecodeLine(line)
			if err != nil || again.Span == nil || !bytes.Equal(line, again.Span.AppendJSON(nil)) {
				t.Fatalf("the span's JSON does not read back: %v\n%s", err, line)
			}
		}
		if rec.Entry == nil {
			continue
		}
		if err := rec.Entry.Validate(); err != nil {
			t.Fatalf("invalid entry: %v", err)
		}
		line := rec.Entry.AppendJSON(nil)
		again, err := entries.DecodeLine(line)
		if err != nil || again.Entry == nil {
			t.Fatalf("the entry's JSON does not read back: %v\n%s", err, line)
		}
		if got := again.Entry.AppendJSON(nil); !bytes.Equal(line, got) {
			t.Fatalf("the entry changes when read back:\n%s\n%s", line, got)
		}
	}
}

func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		text := check.Must(os.ReadFile(filepath.Join("testdata", name)))(f)
		f.Add(text)
	}
}

func FuzzJSON(f *testing.F) {
	seed(f, "gate_off/traces.jsonl", "gate_off/metrics.jsonl")
	f.Add([]byte(batch("matmul")))
	f.Add([]byte(openSpans + spanOf("relu") + closeSpans + "," + resourceOf + "}]}"))
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["json"], text) })
}

func FuzzFrames(f *testing.F) {
	seed(f, "gate_off/traces.pb", "gate_off/traces.pb.zst", "gate_off/traces.jsonl.zst")
	f.Add(framed([]byte(batch("matmul")), field(1, field(2, protoSpan()))))
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["frames"], text) })
}

func FuzzProto(f *testing.F) {
	f.Add(field(1, append(protoResource(), field(2, protoSpan())...)))
	text := check.Must(os.ReadFile("testdata/gate_off/traces.pb"))(f)
	f.Add(unframed(text)[0])
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["raw"], text) })
}
