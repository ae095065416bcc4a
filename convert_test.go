package optrace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// convertKeys are attributes with a field in entries, and others.
var convertKeys = []string{
	attrkey.Name, attrkey.Name, attrkey.InputShapes, attrkey.InputShapes, attrkey.OutputShape, attrkey.InputDTypes,
	attrkey.Kind,
	attrkey.Path, attrkey.FLOPs, attrkey.Side, attrkey.OutputElements, attrkey.DType, attrkey.Device, attrkey.Stream,
	attrkey.Step,
	attrkey.Memory, attrkey.Collective, attrkey.Group, attrkey.GroupSize, attrkey.Sequence, attrkey.PeerRank,
	attrkey.InElements,
	attrkey.Rank, attrkey.InputShape(0), attrkey.InputShape(3), "pytorch.input_shapes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "device", "kept",
}

// For any span: no panic, whole lines only, and each entry is valid and survives a round trip.
func FuzzConvert(f *testing.F) {
	f.Add([]byte{})
	random := rand.NewChaCha8([32]byte{})
	for range 50 {
		seed := make([]byte, 600)
		_, _ = random.Read(seed)
		f.Add(seed)
	}
	var mapping attr.Mapping
	mapping.Keep("kept")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &spantest.Random{Data: data, Keys: convertKeys}
		var spans []sdktrace.ReadOnlySpan
		for range 1 + r.Below(3) {
			stub := r.Span()
			spans = append(spans, stub.Snapshot())
		}
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithMapping(&mapping))
		export(t, exp, spans...)
		written := uint64(0)
		for line := range bytes.Lines(out.Bytes()) {
			line, ended := bytes.CutSuffix(line, []byte("\n"))
			rec, err := entries.DecodeLine(line)
			if err != nil || !ended {
				t.Fatalf("line %q (ended: %v): %v", line, ended, err)
			}
			if rec.Entry == nil {
				continue
			}
			written++
			check.OK(t, rec.Entry.Validate())
			check.Equal(t, "an entry that is read and written", string(line), string(rec.Entry.AppendJSON(nil)))
		}
		check.Equal(t, "entries that are written and dropped", [2]uint64{written, 0},
			[2]uint64{exp.Stats().Written, exp.Stats().Dropped})
	})
}

// Spans of the SDK convert like spans of all other sources. The entries come from the converter, because writers omit
// inferred values.
func TestConformance(t *testing.T) {
	conv := optrace.NewConverter(nil)
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		t.Helper()
		return conv.Entry(c.Stub(t).Snapshot())
	})
}
