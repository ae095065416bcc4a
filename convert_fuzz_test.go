package optrace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// convertKeys are the attributes that become fields of entries, and others.
var convertKeys = []string{
	op.KeyName, op.KeyName, op.KeyInputShapes, op.KeyInputShapes, op.KeyOutputShape, op.KeyInputDTypes, op.KeyKind,
	op.KeyPath, op.KeyFLOPs, op.KeySide, op.KeyOutputElements, op.KeyDType, op.KeyDevice, op.KeyStream, op.KeyStep,
	op.KeyMemory, op.KeyCollective, op.KeyGroup, op.KeyGroupSize, op.KeySequence, op.KeyPeerRank, op.KeyInElements,
	op.KeyRank, op.InputShapeKey(0), op.InputShapeKey(3), "pytorch.input_shapes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "device", "kept",
}

// Whatever a span holds: nothing panics, what is written is whole lines, and
// each entry is valid and comes back as it was.
func FuzzConvert(f *testing.F) {
	f.Add([]byte{})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		seed := make([]byte, 600)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	var mapping op.Mapping
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
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		written := uint64(0)
		for line := range bytes.Lines(out.Bytes()) {
			line, ended := bytes.CutSuffix(line, []byte("\n"))
			rec, err := op.DecodeLine(line)
			if err != nil || !ended {
				t.Fatalf("line %q (ended: %v): %v", line, ended, err)
			}
			if rec.Entry == nil {
				continue
			}
			written++
			if err := rec.Entry.Validate(); err != nil {
				t.Errorf("entry %s: %v", line, err)
			}
			if again := rec.Entry.AppendJSON(nil); !bytes.Equal(line, again) {
				t.Errorf("entry changes when it is read and written:\n%s\n%s", line, again)
			}
		}
		if st := exp.Stats(); st.Written != written || st.Dropped != 0 {
			t.Errorf("%d entries with %+v", written, st)
		}
	})
}
