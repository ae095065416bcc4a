package pdataop

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// sums are fields of entries that sums are made of.
type sums struct {
	IsOperation       bool
	Operation, Device string
	Kind              op.Kind
	Side              op.Side
	Memory, FLOPs     op.Int
}

// Spans with equal fingerprints have equal fields, also where they differ by one attribute
// only, by the order of attributes or by their names.
func TestFingerprints(t *testing.T) {
	m := attrmap.Without(nil, attrmap.FieldsOf(attrmap.FieldInputShapes, attrmap.FieldPath, attrmap.FieldStep))
	reader, prints := NewReader(m), NewFingerprints(m)
	known := make(map[Fingerprint]sums)
	seen, equal := 0, 0
	check := func(s ptrace.Span) {
		p, ok := prints.Of(s, 0)
		if !ok {
			return
		}
		var got sums
		if e, is := reader.Entry(s); is {
			got = sums{true, e.Operation, e.DeviceID, e.Kind, e.Side, e.MemoryBytes, e.FLOPs}
		}
		seen++
		want, before := known[p]
		if before {
			equal++
		}
		if known[p] = got; before && want != got {
			t.Fatalf("one fingerprint for several fields:\n%s", cmp.Diff(want, got))
		}
	}
	var all []ptrace.Traces
	all = append(all, pdatatest.Training(1, 2, 3)...)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := spantest.Random{Data: make([]byte, 1500), Keys: keys}
		for i := range r.Data {
			r.Data[i] = byte(rng.Uint32())
		}
		all = append(all, received(t, r.Operation().Snapshot()))
	}
	for _, td := range all {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					variants(s, check)
				}
			}
		}
	}
	if seen < 1000 || equal < 100 {
		t.Errorf("only %d spans, %d like others", seen, equal)
	}
}

// variants calls f with a span and with some that differ a little.
func variants(s ptrace.Span, f func(ptrace.Span)) {
	f(s)
	change := func(do func(ptrace.Span)) {
		other := ptrace.NewSpan()
		s.CopyTo(other)
		do(other)
		f(other)
	}
	change(func(o ptrace.Span) { o.SetName("another") })
	for key := range s.Attributes().All() {
		change(func(o ptrace.Span) { o.Attributes().Remove(key) })
		change(func(o ptrace.Span) { o.Attributes().PutStr(key, "7") })
		change(func(o ptrace.Span) { o.Attributes().PutInt(key, 7) })
		change(func(o ptrace.Span) { o.Attributes().PutDouble(key, 7) })
		change(func(o ptrace.Span) { o.Attributes().PutEmptySlice(key).AppendEmpty().SetInt(7) })
		change(func(o ptrace.Span) {
			o.Attributes().PutEmptySlice(key).AppendEmpty().SetEmptySlice().AppendEmpty().SetInt(7)
		})
		change(func(o ptrace.Span) { // to the end
			v, _ := s.Attributes().Get(key)
			o.Attributes().Remove(key)
			v.CopyTo(o.Attributes().PutEmpty(key))
		})
	}
	change(func(o ptrace.Span) { o.Attributes().PutStr("operation", "bare") })
}

func TestFingerprintsOfUnusualSpans(t *testing.T) {
	prints := NewFingerprints(nil)
	for name, change := range map[string]func(pcommon.Map){
		"a map":      func(m pcommon.Map) { m.PutEmptyMap(attrkey.Device) },
		"bytes":      func(m pcommon.Map) { m.PutEmptyBytes(attrkey.Device) },
		"no value":   func(m pcommon.Map) { m.PutEmpty(attrkey.Device) },
		"a deep one": func(m pcommon.Map) { deep(m.PutEmptySlice(attrkey.OutputShape), 2*maxDepth) },
		"a long key": func(m pcommon.Map) { m.PutStr(strings.Repeat("k", 2*maxKeyText), "") },
	} {
		s := ptrace.NewSpan()
		change(s.Attributes())
		if _, ok := prints.Of(s, 0); ok {
			t.Errorf("%s has a fingerprint", name)
		}
	}
}

func deep(s pcommon.Slice, depth int) {
	if depth > 0 {
		deep(s.AppendEmpty().SetEmptySlice(), depth-1)
	}
}

// The memory of keys is bounded.
func TestFingerprintsOfManyKeys(t *testing.T) {
	prints := NewFingerprints(nil)
	s := ptrace.NewSpan()
	for i := range 3 * maxKeys {
		s.Attributes().Clear()
		s.Attributes().PutStr(fmt.Sprint("key", i), "")
		s.Attributes().PutStr(attrkey.Name, "matmul")
		if _, ok := prints.Of(s, 0); !ok {
			t.Fatal("no fingerprint")
		}
	}
	if len(prints.keys) > maxKeys {
		t.Errorf("%d keys are remembered", len(prints.keys))
	}
	s.Attributes().Clear()
	s.Attributes().PutStr(attrkey.Name, "matmul")
	one, _ := prints.Of(s, 1)
	two, _ := prints.Of(s, 2)
	if again, _ := prints.Of(s, 1); one == two || again != one {
		t.Errorf("fingerprints %x, %x and %x again", one, two, again)
	}
}
