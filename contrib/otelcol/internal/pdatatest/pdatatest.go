// Package pdatatest makes spans for the tests of this module, and reports on them like the command optrace.
package pdatatest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/xconfmap"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/otlp"
)

// Training returns the spans of a training run, with a request for each step. Each rank is a process with two devices
// and overlapping operations. Some operations fail, some are seen from the host, and some have no device.
func Training(t testing.TB, seed uint64, ranks, steps int) (all []ptrace.Traces) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	names := []string{"matmul", "layer_norm", "softmax", "gelu", "memcpy_h2d", "all_reduce"}
	for step := range steps {
		now := 1_795_224_124_978_150_123 + 3_000_000*int64(step)
		var text bytes.Buffer
		w := render.NewWriter(&text)
		for rank := range ranks {
			check.OK(t, w.Resource(&op.Resource{
				Service: "trainer", Rank: op.Known(int64(rank)),
				Attrs: []op.Attr{{Key: attrkey.HostName, Value: fmt.Sprint("node", rank/2)}},
			}))
			traceID := op.TraceID{1, 14: byte(step), 15: byte(rank)}
			id := func(n int) op.SpanID { return op.SpanID{byte(step), byte(rank), byte(n)} }
			check.OK(t, w.Span(&op.Span{
				Name: "train_step", Service: "trainer", TraceID: traceID, SpanID: id(1), Start: op.Known(now),
				Duration: 2_500_000,
				Extra:    &op.Extra{Scope: op.Scope{Name: "example.com/engine"}},
			}))
			for i := range 40 {
				e := &op.Entry{
					Operation: names[rng.IntN(len(names))], TraceID: traceID, SpanID: id(2 + i), ParentSpanID: id(1),
					Service: "trainer", Scope: "example.com/engine",
					Start: op.Known(now + int64(i)*50_000 + rng.Int64N(40_000)), Duration: 1_000 + rng.Int64N(120_000),
					DType: []op.DType{op.F32, op.BF16}[rng.IntN(2)], Step: op.Known(int64(step)),
					OutputShape: op.Shape{64, 32 << rng.IntN(4)},
					InputShapes: []op.Shape{{64, 32 << rng.IntN(4)}, {32 << rng.IntN(4), 256}},
					Rank:        op.Known(int64(rank)),
				}
				if i%20 != 7 {
					e.DeviceID = fmt.Sprint("cuda:", rng.IntN(2))
				}
				switch {
				case e.Operation == "matmul":
					e.FLOPs = op.Known(1000 + rng.Int64N(1_000_000))
				case e.Operation == "all_reduce":
					e.Collective = &op.Collective{Name: "all_reduce", Group: "dp", Sequence: op.Known(int64(i))}
				case i%10 == 3:
					e.MemoryBytes = op.Known(rng.Int64N(1 << 20))
				case i%10 == 5:
					e.Side = op.SideHost
				}
				if i == 11 {
					e.Failed = true
					e.Error = "out of memory"
				}
				check.OK(t, w.Entry(e))
			}
		}
		check.OK(t, w.Flush())
		td := ptrace.NewTraces()
		for line := range bytes.Lines(text.Bytes()) {
			one := check.Must(new(ptrace.JSONUnmarshaler).UnmarshalTraces(line))(t)
			one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		}
		all = append(all, td)
	}
	return all
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

// Report returns the report on spans, read from a file of OTLP.
func Report(t *testing.T, opts analyze.Options, all ...ptrace.Traces) *analyze.Report {
	t.Helper()
	records := otlp.ProtoRecords(bytes.NewReader(Proto(t, all...)), "spans", nil)
	return check.Must(analyze.Run(t.Context(), analyze.Records(records), opts))(t)
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
