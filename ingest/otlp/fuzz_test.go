package otlp_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op/attr"
)

// fuzzReader checks what a reader makes of a text, and that no text ends it.
func fuzzReader(t *testing.T, r reader, text []byte) {
	t.Helper()
	all := new(attr.Mapping)
	all.KeepAll()
	for _, m := range []*attr.Mapping{nil, all} {
		recordtest.Check(t, r(bytes.NewReader(text), "fuzz", m))
	}
	check.Equal(t, "the error of a source that did not fail", "", read(r, text).Err)
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
	f.Add(spantest.Messages(f, text)[0])
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["raw"], text) })
}
