package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/internal/cases"
)

// randomTraces returns spans of several resources and scopes, some of many spans.
func randomTraces(rng *rand.Rand) ptrace.Traces {
	td := ptrace.NewTraces()
	number := 0
	for r := range 1 + rng.IntN(6) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", fmt.Sprint("service ", r))
		rs.Resource().Attributes().PutStr("host.name", `"resource":{"spans":[`)
		for s := range rng.IntN(4) {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName(fmt.Sprint("scope ", s))
			for range rng.IntN(1 << rng.IntN(8)) {
				number++
				randomSpan(rng, ss.Spans().AppendEmpty(), number)
			}
		}
	}
	return td
}

func randomSpan(rng *rand.Rand, s ptrace.Span, number int) {
	s.SetTraceID([16]byte{byte(rng.IntN(3)), 15: 1})
	s.SetSpanID([8]byte{byte(number >> 8), byte(number), 7: 1})
	s.SetName([]string{"matmul", `},{"traceId":"`, "größe\n"}[rng.IntN(3)])
	s.SetStartTimestamp(1795224124978150123)
	s.SetEndTimestamp(1795224124978150999)
	if rng.IntN(4) > 0 {
		s.Attributes().PutStr("tensor.op.name", "matmul")
		list := s.Attributes().PutEmptySlice("tensor.input.shapes")
		for range rng.IntN(3) {
			dims := list.AppendEmpty().SetEmptySlice()
			dims.AppendEmpty().SetInt(rng.Int64N(100))
		}
		s.Attributes().PutStr("debug", `[{"resource":{"scopeSpans":[{"spans":[`)
	}
	for range rng.IntN(3) {
		l := s.Links().AppendEmpty()
		l.SetTraceID([16]byte{2})
		l.SetSpanID([8]byte{3})
	}
	if rng.IntN(4) == 0 {
		s.Events().AppendEmpty().SetName("launch")
	}
	if rng.IntN(8) == 0 {
		s.Status().SetCode(ptrace.StatusCodeError)
	}
}

// jsonDocuments returns a file of one or more documents of OTLP JSON, on a line or
// spread over lines.
func jsonDocuments(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(randomTraces(rng))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Repeat(append(bytes.Clone(text), '\n'), rng.IntN(2)*rng.IntN(4)) // in front
	if rng.IntN(4) == 0 {
		text = fmt.Appendf(nil, `{"result":%s}`, text)
	}
	if rng.IntN(2) == 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, text, "", []string{" ", "\t", "    "}[rng.IntN(3)]); err != nil {
			t.Fatal(err)
		}
		text = pretty.Bytes()
	}
	return slices.Concat(lines, text, []byte("\n"))
}

// protoMessage returns a message of OTLP protobuf without frames.
func protoMessage(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	text, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(randomTraces(rng))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// printedSpans returns spans as the SDK's exporter to standard output prints them, one
// behind the other, each on a line or spread over lines.
func printedSpans(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	var text bytes.Buffer
	for n := range rng.IntN(100) {
		service := []string{"a", "b", `"}` + "\n{"}[min(2, n/40)]
		span := map[string]any{
			"Name":        "matmul",
			"SpanContext": map[string]any{"TraceID": "01000000000000000000000000000000", "SpanID": fmt.Sprintf("01000000000000%02x", n)},
			"StartTime":   "2026-11-21T01:23:22.640150123Z", "EndTime": "2026-11-21T01:23:22.640161122Z",
			"Attributes": []any{map[string]any{"Key": "tensor.op.name", "Value": map[string]any{"Type": "STRING", "Value": "matmul"}}},
			"Resource":   []any{map[string]any{"Key": "service.name", "Value": map[string]any{"Type": "STRING", "Value": service}}},
		}
		line, err := json.Marshal(span)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			line = slices.Concat([]byte(`{"SpanContext":{},`), line[1:])
		}
		if n%2 == int(rng.Uint64()%2) {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, line, "", "\t"); err != nil {
				t.Fatal(err)
			}
			line = pretty.Bytes()
		}
		text.Write(line)
		text.WriteString([]string{"\n", "\n", "\n\n", " garbage\n", "\n{}\n", "\n{\n", " "}[rng.IntN(7)])
	}
	return append([]byte(`{"SpanContext":{}}`+"\n"), text.Bytes()...)
}

// damage changes a text a little: by a byte, by the end that it lacks, or by a member
// that is none of the schema's.
func damage(rng *rand.Rand, text []byte) []byte {
	text = bytes.Clone(text)
	at := rng.IntN(len(text))
	switch rng.IntN(6) {
	case 0:
		text[at] = `"{}[],:x`[rng.IntN(8)]
	case 1:
		return text[:at]
	case 2:
		return bytes.Replace(text, []byte(`"name"`), []byte(`"\u006eame"`), rng.IntN(9))
	case 3:
		other := `"other":[{"traceId":"00","startTimeUnixNano":"1"},{"traceId":"00","startTimeUnixNano":"1"}],"status"`
		return bytes.Replace(text, []byte(`"status"`), []byte(other), rng.IntN(30))
	case 4:
		return bytes.Replace(text, []byte(`"scope"`), []byte(`"sc\u006fpe"`), rng.IntN(9))
	}
	return bytes.Replace(text, []byte(`"resource"`), []byte(`"other":0,"resource"`), rng.IntN(9))
}

// The parts of a document are those of one pass, whatever is wrong with it.
func TestDocumentsInParts(t *testing.T) {
	testDocuments(t, jsonDocuments)
}

func TestPrintedSpansInParts(t *testing.T) { testDocuments(t, printedSpans) }

func TestMessagesInParts(t *testing.T) { testDocuments(t, protoMessage) }

func testDocuments(t *testing.T, documents func(t *testing.T, rng *rand.Rand) []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	shared, read := 0, 0
	for seed := range cases.Numbers(t, 300) {
		read++
		rng := rand.New(rand.NewPCG(seed, 1))
		text := documents(t, rng)
		if rng.IntN(4) == 0 {
			text = append(text, documents(t, rng)...)
		}
		if rng.IntN(2) == 0 {
			text = damage(rng, text)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		want := recordtest.Transcript(t, ingest.Open(path).Records())
		for _, size := range []int{1, 300, 2000} {
			got, n := inParts(t, ingest.Open(path), size, 2+rng.IntN(2))
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Fatalf("seed %d, parts of %d: (-want +got)\n%s", seed, size, diff)
			}
			if n > 1 {
				shared++
			}
		}
	}
	if shared < read*2/3 {
		t.Errorf("%d readings in parts", shared)
	}
}
