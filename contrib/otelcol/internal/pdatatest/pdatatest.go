// Package pdatatest makes spans for the tests of this module, and reports on them as the
// command optrace does on files.
package pdatatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/xconfmap"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// Training returns the spans of a training run, a request for each step: a process per
// rank drives two devices, whose operations overlap; some fail, some are seen from the
// host, and some have no device.
func Training(seed uint64, ranks, steps int) []ptrace.Traces {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), now: 1_795_224_124_978_150_123}
	var all []ptrace.Traces
	for step := range steps {
		td := ptrace.NewTraces()
		for rank := range ranks {
			g.process(td.ResourceSpans().AppendEmpty(), rank, step)
		}
		all = append(all, td)
		g.now += 3_000_000
	}
	return all
}

type generator struct {
	rng   *rand.Rand
	now   int64
	spans uint64
}

func (g *generator) process(rs ptrace.ResourceSpans, rank, step int) {
	a := rs.Resource().Attributes()
	a.PutStr(attrkey.ServiceName, "trainer")
	a.PutInt(attrkey.Rank, int64(rank))
	a.PutStr("host.name", fmt.Sprint("node", rank/2))
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("example.com/engine")
	trace := pcommon.TraceID{1, 14: byte(step), 15: byte(rank)}
	root := ss.Spans().AppendEmpty()
	g.place(root, trace, pcommon.SpanID{}, g.now, g.now+2_500_000)
	root.SetName("train_step")
	for i := range 40 {
		start := g.now + int64(i)*50_000 + g.rng.Int64N(40_000)
		s := ss.Spans().AppendEmpty()
		g.place(s, trace, root.SpanID(), start, start+1_000+g.rng.Int64N(120_000))
		g.operation(s, i, step)
	}
}

func (g *generator) place(s ptrace.Span, trace pcommon.TraceID, parent pcommon.SpanID, start, end int64) {
	g.spans++
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], g.spans)
	s.SetTraceID(trace)
	s.SetSpanID(id)
	s.SetParentSpanID(parent)
	s.SetKind(ptrace.SpanKindInternal)
	s.SetStartTimestamp(pcommon.Timestamp(start))
	s.SetEndTimestamp(pcommon.Timestamp(end))
}

func (g *generator) operation(s ptrace.Span, i, step int) {
	names := []string{"matmul", "layer_norm", "softmax", "gelu", "memcpy_h2d", "all_reduce"}
	name := names[g.rng.IntN(len(names))]
	s.SetName(name)
	a := s.Attributes()
	a.PutStr(attrkey.Name, name)
	if i%20 != 7 {
		a.PutStr(attrkey.Device, fmt.Sprint("cuda:", g.rng.IntN(2)))
	}
	a.PutStr(attrkey.DType, []string{"f32", "bf16"}[g.rng.IntN(2)])
	a.PutInt(attrkey.Step, int64(step))
	in := a.PutEmptySlice(attrkey.InputShapes)
	dims(in.AppendEmpty().SetEmptySlice(), 64, 32<<g.rng.IntN(4))
	dims(in.AppendEmpty().SetEmptySlice(), 32<<g.rng.IntN(4), 256)
	dims(a.PutEmptySlice(attrkey.OutputShape), 64, 32<<g.rng.IntN(4))
	switch {
	case name == "matmul":
		a.PutInt(attrkey.FLOPs, 1000+g.rng.Int64N(1_000_000))
	case name == "all_reduce":
		a.PutStr(attrkey.Collective, "all_reduce")
		a.PutStr(attrkey.Group, "dp")
		a.PutInt(attrkey.Sequence, int64(i))
	case i%10 == 3:
		a.PutInt(attrkey.Memory, g.rng.Int64N(1<<20))
	case i%10 == 5:
		a.PutStr(attrkey.Side, op.SideHost.String())
	}
	if i == 11 {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage("out of memory")
	}
}

func dims(s pcommon.Slice, list ...int) {
	for _, n := range list {
		s.AppendEmpty().SetInt(int64(n))
	}
}

// Proto returns the spans as one message of OTLP.
func Proto(t *testing.T, all ...ptrace.Traces) []byte {
	t.Helper()
	whole := ptrace.NewTraces()
	for _, td := range all {
		for _, rs := range td.ResourceSpans().All() {
			rs.CopyTo(whole.ResourceSpans().AppendEmpty())
		}
	}
	var m ptrace.ProtoMarshaler
	return check.Must(m.MarshalTraces(whole))(t)
}

// Report returns the report on spans, as they are read from a file of OTLP.
func Report(t *testing.T, opts analyze.Options, all ...ptrace.Traces) *analyze.Report {
	t.Helper()
	records := otlp.ProtoRecords(bytes.NewReader(Proto(t, all...)), "spans", nil)
	return check.Must(analyze.Run(t.Context(), analyze.Records(records), opts))(t)
}

// Sums returns the sums of the values of profiles by their names.
func Sums(all ...pprofile.Profiles) map[string]int64 {
	sums := make(map[string]int64)
	for _, ps := range all {
		names := ps.Dictionary().StringTable()
		for _, rp := range ps.ResourceProfiles().All() {
			for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
				for _, s := range p.Samples().All() {
					sums[names.At(int(p.SampleType().TypeStrindex()))] += s.Values().At(0)
				}
			}
		}
	}
	return sums
}

// CheckConfig checks that a configuration that is read from text is refused with an error that says want, and taken where
// that is empty.
func CheckConfig(t *testing.T, cfg component.Config, text map[string]any, want string) {
	t.Helper()
	err := confmap.NewFromStringMap(text).Unmarshal(cfg)
	if err == nil {
		err = xconfmap.Validate(cfg)
	}
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}
