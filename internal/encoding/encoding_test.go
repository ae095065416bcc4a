package encoding_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op"
)

// names is an encoder that writes the names of spans, each after a part that must
// not stay alone.
type names struct{}

func (names) Add(b *encoding.Batch, e span.Ended, _ *traces.WithOps) encoding.Outcome {
	b.Records = append(b.Records, '<')
	name := e.Span.Name()
	b.Records = append(append(b.Records, name...), '>')
	if strings.HasPrefix(name, "op") {
		b.Entries++
		return encoding.Entry
	}
	return encoding.Skipped
}

// hostile panics when it is asked for its name or attributes.
type hostile struct{ sdktrace.ReadOnlySpan }

func (hostile) Name() string                     { panic("hostile span") }
func (hostile) Attributes() []attribute.KeyValue { panic("hostile span") }

func spans(names ...string) (all []sdktrace.ReadOnlySpan) {
	for _, n := range names {
		s := tracetest.SpanStub{Name: n}.Snapshot()
		if n == "hostile" {
			s = hostile{s}
		}
		all = append(all, s)
	}
	return all
}

func TestAddRecovers(t *testing.T) {
	b := encoding.NewBatch(0)
	for _, s := range spans("op1", "hostile", "op2") {
		_, _ = encoding.Add(names{}, b, &span.Ended{Span: s}, nil)
	}
	if got := string(b.Body()); got != "<op1><op2>" || b.Entries != 2 {
		t.Errorf("%q with %d entries", got, b.Entries)
	}
	if !encoding.IsOperation(nil, spans("hostile")[0]) || encoding.IsOperation(nil, spans("request")[0]) {
		t.Error("a span that panics counts as an operation, a request does not")
	}
}

func TestBatchBetween(t *testing.T) {
	for _, head := range []int{0, 10, 512, 513, 5000} {
		b := encoding.NewBatch(0)
		b.Records = append(b.Records, "records"...)
		want := strings.Repeat("h", head) + "recordstail"
		framed, _ := b.Between(bytes.Repeat([]byte("h"), head), []byte("tail"))
		if string(framed) != want {
			t.Errorf("a head of %d bytes: %d bytes, want %d", head, len(framed), len(want))
		}
		if string(b.Body()[:7]) != "records" {
			t.Errorf("a head of %d bytes: the records are %q", head, b.Body())
		}
	}
	b := encoding.NewBatch(0)
	b.Records, b.Entries, b.FirstResource = append(b.Records, "x"...), 1, &op.Resource{}
	if b.Reset(); !b.Empty() || b.Entries != 0 || b.FirstResource != nil {
		t.Errorf("a batch after Reset is %+v", b)
	}
}

// Records are grouped by resource and scope, in the order of their first ones.
func TestGroups(t *testing.T) {
	a, b := &encoding.Resource{}, &encoding.Resource{}
	scopes := []*encoding.Scope{{Resource: a}, {Resource: b}, {Resource: a}}
	var g encoding.Groups
	var records []byte
	for i, s := range []int{0, 0, 1, 0, 2, 1, 2} {
		start := len(records)
		records = fmt.Append(records, s, "-", i, " ")
		g.Add(scopes[s], start, len(records))
	}
	var got []string
	for _, r := range g.Resources {
		for _, s := range r.Scopes {
			text := string(s.AppendRecords(nil, records))
			if len(text) != s.Bytes {
				t.Errorf("a scope has %d bytes, and says %d", len(text), s.Bytes)
			}
			got = append(got, text)
		}
	}
	check.Equal(t, "", "0-0 0-1 0-3 |2-4 2-6 |1-2 1-5 ", strings.Join(got, "|"))
}

func TestRecognizeLines(t *testing.T) {
	for head, want := range map[string]encoding.Origin{
		"\n \n": encoding.Own, `{"st`: encoding.Own, "\n" + `{"step":1}`: encoding.Own, "notes\n": encoding.Foreign,
		"damage\n" + `{"step":1}` + "\n": encoding.Damaged, "notes\n" + `{"st`: encoding.Foreign,
	} {
		check.Equal(t, head, want, encoding.RecognizeLines([]byte(head), `{"batch":`, `{"step":`))
	}
}
