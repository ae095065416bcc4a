package otlp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
)

// The parts that a walk cuts are those of one pass, also of messages that are too large
// to be read as a whole, and whatever is wrong with them.
func TestProtoWalk(t *testing.T) {
	entered := 0
	for seed := range cases.Numbers(t, 2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		message := walkedMessage(t, rng)
		if rng.IntN(2) == 0 {
			message[rng.IntN(len(message))] = byte(rng.IntN(256))
		}
		if rng.IntN(4) == 0 {
			message = message[:rng.IntN(len(message))]
		}
		most := int64(1) << (4 + rng.IntN(12))
		read := func(text []byte, at op.Position, p ProtoPlace) string {
			r := NewProtoReader(nil)
			r.s.most = most
			return recordtest.Transcript(t, r.Records(bytes.NewBuffer(text), "file", at, p))
		}
		want := read(message, op.Position{}, ProtoPlace{})
		w := NewProtoWalk()
		w.most = most
		var got string
		for at, ok := 0, true; at < len(message) || at == 0; {
			p, n := w.Place(), 0
			if p.level > 0 {
				entered++
			}
			end := at
			for n == 0 && ok && end < len(message) {
				end = min(len(message), end+1+rng.IntN(300))
				n, ok = w.Cut(message[at:end])
			}
			if p.Cut = n > 0 && at+n < len(message); !p.Cut {
				n = len(message) - at
			}
			got += read(message[at:at+n], op.Position{Offset: int64(at)}, p)
			at += max(n, 1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-one pass +parts):\n%s", seed, diff)
		}
	}
	if entered == 0 || cases.All() && entered < 1000 {
		t.Errorf("%d parts within messages", entered)
	}
}

func walkedMessage(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	td := new(tracepb.TracesData)
	text := func(key, value string) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}}
	}
	for r := range 1 + rng.IntN(4) {
		rs := &tracepb.ResourceSpans{Resource: &resourcepb.Resource{Attributes: text("service.name", fmt.Sprint("service ", r))}}
		td.ResourceSpans = append(td.ResourceSpans, rs)
		for s := range rng.IntN(4) {
			ss := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: fmt.Sprint("scope ", s)}}
			rs.ScopeSpans = append(rs.ScopeSpans, ss)
			for n := range rng.IntN(1 << rng.IntN(7)) {
				ss.Spans = append(ss.Spans, &tracepb.Span{
					TraceId: []byte{15: 1}, SpanId: []byte{byte(s + 1), byte(n), 7: 0},
					StartTimeUnixNano: 1795224124978150123, EndTimeUnixNano: 1795224124978150999, Attributes: text("tensor.op.name", "matmul"),
				})
			}
		}
	}
	return check.Must(proto.Marshal(td))(t)
}
