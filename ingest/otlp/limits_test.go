package otlp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op/attr"
)

// repeated is a reader of head, then n times unit with commas between, then tail.
func repeated(head, unit string, n int, tail string) io.Reader {
	return strings.NewReader(head + strings.Repeat(unit+",", n-1) + unit + tail)
}

const (
	openSpans  = `{"resourceSpans":[{"scopeSpans":[{"spans":[`
	closeSpans = `]}]`
	resourceOf = `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]}`
)

// drain reads all records and returns how many operations had a service.
func drain(t *testing.T, r reader, src io.Reader) (ops, withService int, bad []string) {
	t.Helper()
	for rec, err := range r(src, "input", nil) {
		switch {
		case err != nil:
			bad = append(bad, err.Error())
		case rec.Entry != nil:
			ops++
			if rec.Entry.Service == "svc" {
				withService++
			}
		}
	}
	return ops, withService, bad
}

func TestJSONResourceFarBehindItsSpans(t *testing.T) {
	unit := spanOf("relu")
	fits := otlp.MaxElementBytes/(len(unit)+1) - 1000
	for _, test := range []struct {
		name      string
		n         int
		withAll   bool
		malformed int
	}{
		{"within the limit", fits, true, 0},
		{"beyond the limit", fits + 3000, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := repeated(openSpans, unit, test.n, closeSpans+","+resourceOf+"}]}\n"+batch("last"))
			ops, withService, bad := drain(t, otlp.JSONRecords, src)
			want := 1 // the last document's
			if test.withAll {
				want += test.n
			}
			if ops != test.n+1 || withService != want || len(bad) != test.malformed {
				t.Errorf("%d of %d operations have the service, bad %q", withService, ops, bad)
			}
		})
	}
}

func TestJSONElementTooLong(t *testing.T) {
	long := strings.Replace(batch("long"), `"name":"op"`, `"name":"`+strings.Repeat("x", otlp.MaxElementBytes)+`"`, 1)
	res := read(otlp.JSONRecords, []byte(batch("a")+"\n"+long+"\n"+batch("b")+"\n"))
	check.Equal(t, "operations", []string{"a", "b"}, res.names())
	if len(res.Bad) != 1 || !strings.Contains(res.Bad[0], "input:2: element longer than 16 MiB") {
		t.Errorf("bad = %q", res.Bad)
	}
}

// Skipped values may have any length.
func TestJSONSkipsWhatIsLong(t *testing.T) {
	src := repeated(`{"other":[`, `{"a":"`+strings.Repeat("b", 20000)+`"}`, 2000, `],`+strings.TrimPrefix(batch("a"),
		"{"))
	if ops, _, bad := drain(t, otlp.JSONRecords, src); ops != 1 || len(bad) > 0 {
		t.Errorf("%d operations, bad %q", ops, bad)
	}
}

// A document of any size is read in constant memory.
func TestJSONConstantMemory(t *testing.T) {
	const n = 100_000 // 20 MB
	src := repeated(`{"resourceSpans":[{`+resourceOf+`,"scopeSpans":[{"scope":{},"spans":[`, spanOf("relu"), n,
		`]}]}]}`)
	var ops int
	var bad []string
	grown := check.Allocated(func() { ops, _, bad = drain(t, otlp.JSONRecords, src) })
	if ops != n || len(bad) > 0 {
		t.Fatalf("%d operations, bad %q", ops, bad)
	}
	if grown > 4<<20 {
		t.Errorf("%d bytes allocated for %d spans", grown, n)
	}
}

func field(num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
}

// protoSpan returns a field with the span of an operation.
func protoSpan() []byte {
	attr := append(field(1, []byte("tensor.op.name")), field(2, field(1, []byte("relu")))...)
	return field(2, append(field(5, []byte("op")), field(9, attr)...))
}

// protoResource returns a field with a resource.
func protoResource() []byte {
	return field(1, field(1, append(field(1, []byte("service.name")), field(2, field(1, []byte("svc")))...)))
}

// A group above the limit ends a message without frames.
func TestProtoGroupTooLong(t *testing.T) {
	good := field(1, field(2, protoSpan()))
	long := protowire.AppendVarint([]byte{0x0a}, otlp.MaxFrameBytes+1)
	ops, _, bad := drain(t, otlp.ProtoRecords, bytes.NewReader(slices.Concat(good, long, good)))
	if ops != 1 || len(bad) != 1 || !strings.Contains(bad[0], "longer than 256 MiB") {
		t.Errorf("%d operations, bad %q", ops, bad)
	}
}

// S2 of docs/faults.md: many attributes cost at most eight times as much each as a twentieth of them, at every place. A
// search through the others would cost twenty times as much.
func TestAttributesAreLinear(t *testing.T) {
	many := cases.Count(t, 20_000, 200_000)
	few := many / 20
	attrs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"key":"key.%d","value":{"stringValue":"v"}}`, i)
		}
		return b.String()
	}
	const op, value = `{"key":"tensor.op.name","value":{"stringValue":"relu"}}`, `{"stringValue":"v"}`
	for place, f := range map[string]func(n int) [5]string{ // resource, scope, span, events, links
		"resource": func(n int) [5]string { return [5]string{attrs(n)} },
		"scope":    func(n int) [5]string { return [5]string{1: attrs(n)} },
		"span":     func(n int) [5]string { return [5]string{2: attrs(n)} },
		"event":    func(n int) [5]string { return [5]string{3: `{"name":"e","attributes":[` + op + attrs(n) + `]}`} },
		"link": func(n int) [5]string {
			return [5]string{4: `{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708",` +
				`"attributes":[` + op + attrs(n) + `]}`}
		},
		"list": func(n int) [5]string {
			return [5]string{2: `,{"key":"l","value":{"arrayValue":{"values":[` + value +
				strings.Repeat(","+value, n-1) + `]}}}`}
		},
		"maps in a list": func(n int) [5]string {
			one := `{"kvlistValue":{"values":[{"key":"k","value":` + value + `}]}}`
			return [5]string{2: `,{"key":"l","value":{"arrayValue":{"values":[` + one + strings.Repeat(","+one, n-1) +
				`]}}}`}
		},
	} {
		perAttribute := func(n int, binary bool) time.Duration {
			p := f(n)
			text := fmt.Appendf(nil, `{"resourceSpans":[{"resource":{"attributes":[%s%s]},"scopeSpans":[{"scope":{`+
				`"name":"s","attributes":[%s%s]},`+
				`"spans":[{"name":"relu","attributes":[%s%s],"events":[%s],"links":[%s]}]}]}]}`, op, p[0], op, p[1], op,
				p[2], p[3], p[4])
			read := otlp.JSONRecords
			if binary {
				message := check.Must(proto.Marshal(otlptest.TracesJSON(t, text)))(t)
				text = message
				read = otlp.ProtoRecords
			}
			var m attr.Mapping
			m.KeepAll()
			best := time.Duration(math.MaxInt64)
			for range 3 {
				start := time.Now()
				ops := 0
				for rec, err := range read(bytes.NewReader(text), "input", &m) {
					check.OK(t, err)
					if rec.Entry != nil {
						ops++
					}
				}
				if best = min(best, time.Since(start)); ops != 1 {
					t.Fatalf("%d operations", ops)
				}
			}
			return best / time.Duration(n)
		}
		for _, binary := range []bool{false, true} {
			less := perAttribute(few, binary)
			more := perAttribute(many, binary)
			for try := 0; try < 10 && more > 8*max(less, 200*time.Nanosecond); try++ {
				more = min(more, perAttribute(many, binary)) // of a machine that does other things, too
			}
			if more > 8*max(less, 200*time.Nanosecond) {
				t.Errorf("%s, protobuf %v: %v for each of %d, %v for each of %d", place, binary, less, few, more, many)
			} else {
				t.Logf("%s, protobuf %v: %v, %v", place, binary, less, more)
			}
		}
	}
}

func TestFrameTooLong(t *testing.T) {
	good := field(1, field(2, protoSpan()))
	long := field(99, make([]byte, otlp.MaxMessageBytes))
	ops, _, bad := drain(t, otlp.FramedRecords, bytes.NewReader(framed(good, long, good)))
	if ops != 2 || len(bad) != 1 || !strings.Contains(bad[0], "longer than 64 MiB") {
		t.Errorf("%d operations, bad %q", ops, bad)
	}
}

func TestReadersEnd(t *testing.T) {
	framed := load(t, "gate_off/traces.pb")
	recordtest.Ends(t, otlp.JSONRecords, string(load(t, "gate_off/traces.jsonl")))
	recordtest.Ends(t, otlp.FramedRecords, string(framed))
	recordtest.Ends(t, otlp.ProtoRecords, string(bytes.Join(spantest.Messages(t, framed), nil)))
}

func ExampleJSONRecords() {
	text := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"trainer"}}]},
	  "scopeSpans":[{"spans":[
	    {"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"ca979163b1fe8ba7","name":"matmul",
	     "startTimeUnixNano":"1795224124978150123","endTimeUnixNano":"1795224124978161122",
	     "attributes":[{"key":"tensor.op.name","value":{"stringValue":"matmul"}},
	                   {"key":"tensor.output.shape","value":{"stringValue":"32x64"}}]}]}]}]}`
	for rec, err := range otlp.JSONRecords(strings.NewReader(text), "traces.json", nil) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.OutputShape, e.Duration, e.Service)
		}
	}
	// Output:
	// matmul 32x64 10999 trainer
}

// Memory is reserved before a list of attributes is made. Refused attributes are left out.
func TestAttributesAreAskedFor(t *testing.T) {
	field := func(n byte, parts ...[]byte) []byte {
		text := bytes.Join(parts, nil)
		return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(text))), text...)
	}
	const most, n = 1 << 20, 1 << 20
	for name, message := range map[string][]byte{
		"resource": field(1, field(1, bytes.Repeat([]byte{0x0a, 3, 0x0a, 1, 'k'}, n)), field(2, field(2))),
		"scope":    field(1, field(2, field(1, bytes.Repeat([]byte{0x1a, 0}, n)), field(2))),
		"events":   field(1, field(2, field(2, bytes.Repeat([]byte{0x5a, 0}, n)))),
		"event":    field(1, field(2, field(2, field(11, bytes.Repeat([]byte{0x1a, 0}, n))))),
		"list":     field(1, field(2, field(2, field(9, field(2, field(5, bytes.Repeat([]byte{0x0a, 0}, n))))))),
	} {
		held := int64(0)
		refused := false
		m := new(attr.Mapping)
		m.KeepAll()
		m = attrmap.Holding(m, func(bytes int64) error {
			if held += bytes; held > most {
				refused = true
				return errors.New("full")
			}
			return nil
		})
		for rec, err := range otlp.ProtoRecords(bytes.NewBuffer(message), name, m) {
			if err != nil {
				t.Fatal(err)
			}
			if s := rec.Span; s != nil && s.Extra != nil {
				kept := len(s.Extra.Scope.Attrs) + len(s.Extra.Events)
				for _, e := range s.Extra.Events {
					kept += len(e.Attrs)
				}
				if kept > most/40 { // bytes at least that one takes
					t.Errorf("%s: %d were made", name, kept)
				}
			}
		}
		if name != "resource" && !refused { // which has one key
			t.Errorf("%s: was not asked for", name)
		}
	}
}

// The benchmarks read batches of operations like a recording's.
const (
	batches   = 20
	batchSize = 500
)

func batchJSON() []byte {
	text := []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{` +
		`"stringValue":"trainer"}}]},"scopeSpans":[{"scope":{"name":"torch"},"spans":[`)
	for i := range batchSize {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"%016x",`+
			`"parentSpanId":"ca979163b1fe8ba7",`+
			`"name":"matmul","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[`, i+1,
			1795224124978150123+i, 1795224124978161122+i)
		text = fmt.Appendf(text, `{"key":"tensor.op.name","value":{"stringValue":"matmul"}},{"key":"tensor.op.kind",`+
			`"value":{"stringValue":"compute"}},`+
			`{"key":"tensor.device.id","value":{"stringValue":"cuda:%d"}},{"key":"tensor.step","value":{`+
			`"intValue":"%d"}},`, i%4, i)
		text = append(text, `{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"stringValue":"64x784"},`+
			`{"stringValue":"784x256"}]}}},`+
			`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"64"},{"intValue":"256"}]}}}],`+
			`"status":{},"flags":257}`...)
	}
	return append(text, "]}]}]}\n"...)
}

func BenchmarkReadOTLPJSON(b *testing.B) {
	recordtest.Benchmark(b, bytes.Repeat(batchJSON(), batches), batches*batchSize, otlp.JSONRecords)
}

func BenchmarkReadOTLPProto(b *testing.B) {
	message := check.Must(proto.Marshal(otlptest.TracesJSON(b, batchJSON())))(b)
	recordtest.Benchmark(b, bytes.Repeat(framed(message), batches), batches*batchSize, otlp.FramedRecords)
}
