package otlp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

func load(t *testing.T, path string) []byte {
	t.Helper()
	return check.Must(os.ReadFile(filepath.Join("testdata", path)))(t)
}

func zstdFrame(t *testing.T, text []byte) []byte {
	t.Helper()
	z := check.Must(zstd.NewWriter(nil))(t)
	return z.EncodeAll(text, nil)
}

func unzstd(t *testing.T, text []byte) []byte {
	t.Helper()
	z := check.Must(zstd.NewReader(nil))(t)
	defer z.Close()
	return check.Must(z.DecodeAll(text, nil))(t)
}

// framed returns the payloads in frames of the Collector's file exporter.
func framed(payloads ...[]byte) (out []byte) {
	for _, p := range payloads {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...)
	}
	return out
}

// The Collector wrote the same spans in each framing, with its feature gate for native compression off and on.
func TestFramingsAgree(t *testing.T) {
	for _, gate := range []string{"gate_off", "gate_on"} {
		want := read(otlp.JSONRecords, load(t, gate+"/traces.jsonl"))
		var entries, spans int
		for _, rec := range want.Records {
			switch {
			case strings.HasPrefix(rec, `{"step"`):
				entries++
			case strings.HasPrefix(rec, `{"span"`):
				spans++
			}
		}
		if entries != 21 || spans != 6 || len(want.Bad) > 0 {
			t.Errorf("%s: %d entries, %d other spans, bad %q", gate, entries, spans, want.Bad)
		}
		proto := load(t, gate+"/traces.pb")
		others := map[string]result{
			"protobuf frames": read(otlp.FramedRecords, proto),
			"raw protobuf":    read(otlp.ProtoRecords, bytes.Join(spantest.Messages(t, proto), nil)),
			"byte by byte":    readFrom(otlp.FramedRecords, iotest.OneByteReader(bytes.NewReader(proto))),
		}
		zstJSON, zstProto := load(t, gate+"/traces.jsonl.zst"), load(t, gate+"/traces.pb.zst")
		if gate == "gate_on" {
			others["native zstd, JSON"] = read(otlp.JSONRecords, unzstd(t, zstJSON))
			others["native zstd, protobuf"] = read(otlp.FramedRecords, unzstd(t, zstProto))
		} else {
			others["zstd frames of JSON"] = read(otlp.FramedRecords, zstJSON)
			others["zstd frames of protobuf"] = read(otlp.FramedRecords, zstProto)
		}
		for name, got := range others {
			check.Equal(t, fmt.Sprintf("%s, %s: got against JSON Lines", gate, name), want, got)
		}
	}
}

func TestRotatedFilesAndOtherSignals(t *testing.T) {
	paths, err := filepath.Glob("testdata/rotation/*.gz")
	if err != nil || len(paths) != 3 {
		t.Fatalf("%q, %v", paths, err)
	}
	entries := 0
	for _, path := range paths {
		rel, _ := filepath.Rel("testdata", path)
		res := read(otlp.JSONRecords, check.Gunzip(t, bytes.NewReader(load(t, rel))))
		entries += len(res.names())
		if len(res.Bad) > 0 || res.Err != "" {
			t.Errorf("%s: bad %q, err %q", path, res.Bad, res.Err)
		}
	}
	check.Equal(t, "entries", 1260, entries)

	res := read(otlp.JSONRecords, load(t, "gate_off/metrics.jsonl"))
	check.Equal(t, "metrics", (result{Records: slices.Repeat([]string{"{Reason:other_signal N:1 Signal:metrics}"}, 5)}),
		res)
}

func TestSniff(t *testing.T) {
	proto := load(t, "gate_off/traces.pb")
	good := spantest.Messages(t, proto)[0]
	for _, test := range []struct {
		name string
		head []byte
		want otlp.Framing
	}{
		{"frames", proto, otlp.FramingProto},
		{"zstd frames of protobuf", load(t, "gate_off/traces.pb.zst"), otlp.FramingProto},
		{"zstd frames of JSON", load(t, "gate_off/traces.jsonl.zst"), otlp.FramingJSON},
		{"frames of JSON", framed([]byte("{}")), otlp.FramingJSON},
		{"raw", spantest.Messages(t, proto)[0], otlp.FramingRaw},
		{"JSON", load(t, "gate_off/traces.jsonl"), otlp.FramingNone},
		{"raw that starts like JSON", append([]byte("\n{\n"), good[:0x7a]...), otlp.FramingRaw},
		{"text", []byte("\nhello"), otlp.FramingNone},
		{"zeros", make([]byte, 64), otlp.FramingNone},
		{"nothing", nil, otlp.FramingNone},
		{"too short", []byte{0, 0, 0, 1}, otlp.FramingNone},
	} {
		check.Equal(t, test.name, test.want, otlp.Sniff(test.head))
	}
}

func TestDamage(t *testing.T) {
	good := spantest.Messages(t, load(t, "gate_off/traces.pb"))[0]
	whole := len(read(otlp.ProtoRecords, good).Records)
	broken := append([]byte{0x0a, 0x7f}, good[:20]...)
	for _, test := range []struct {
		name    string
		read    reader
		text    []byte
		records int
		bad     []string
	}{
		{"empty frames", otlp.FramedRecords, framed(nil, good, nil), whole, nil},
		{"broken message", otlp.FramedRecords, framed(broken, good), whole,
			[]string{"unexpected end of protobuf message (at byte 0)"}},
		{"broken zstd", otlp.FramedRecords, framed(zstdFrame(t, good)[:40], good), whole,
			[]string{"frame is not valid zstd"}},
		{"broken JSON", otlp.FramedRecords, framed([]byte(`{"resourceSpans":[`), good), whole,
			[]string{"unexpected end of JSON text (at byte 22)"}},
		{"cut off", otlp.FramedRecords, framed(good, good)[:len(good)+60], whole,
			[]string{"cut off after 52 (at byte 0) truncated"}},
		{"cut off within a length", otlp.FramedRecords, append(framed(good), 0, 0), whole,
			[]string{"frame cut off after 2 bytes"}},
		{"absurd length", otlp.FramedRecords, append(framed(good), 0x7f, 0xff, 0xff, 0xff, 1), whole,
			[]string{"longer than 64 MiB"}},
		{"raw, cut off", otlp.ProtoRecords, good[:len(good)/2], 0, []string{"truncated"}},
		{"raw, damaged message, then a good one", otlp.ProtoRecords, append([]byte{0x0a, 3, 0x12, 0x7f, 1}, good...),
			whole, []string{"unexpected end of protobuf message"}},
		{"raw, invalid wire type", otlp.ProtoRecords, append(bytes.Clone(good), 0x0f), whole,
			[]string{"invalid protobuf wire type"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := read(test.read, test.text)
			if len(res.Records) != test.records || len(res.Bad) != len(test.bad) || res.Err != "" {
				t.Fatalf("%d records, bad %q, err %q", len(res.Records), res.Bad, res.Err)
			}
			for i, part := range test.bad {
				if !strings.Contains(strings.ReplaceAll(res.Bad[i], "(at byte "+strconv.Itoa(4+len(good))+")",
					"(at byte 0)"), part) {
					t.Errorf("bad = %q, want %q", res.Bad[i], part)
				}
			}
		})
	}
}

// The batch of a frame is yielded before the reader asks for more input: growing files need this.
func TestFramesAreNotAwaited(t *testing.T) {
	for _, name := range []string{"traces.pb", "traces.pb.zst", "traces.jsonl.zst"} {
		text := load(t, "gate_off/"+name)
		n := 4 + int(binary.BigEndian.Uint32(text))
		source, grow := io.Pipe()
		go func() {
			_, _ = grow.Write(text[:n])
		}()
		spans := 0
		for rec, err := range otlp.FramedRecords(source, "test", nil) {
			check.OK(t, err)
			if rec.Entry != nil || rec.Span != nil {
				if spans++; spans == 9 {
					break // the reader would wait now
				}
			}
		}
		check.Equal(t, fmt.Sprintf("%s: spans", name), 9, spans)
		_ = source.Close()
	}
}

// S7 of docs/faults.md: files of other signals in protobuf are recognised and named.
func TestSignalsInProtobuf(t *testing.T) {
	for name, records := range map[string]int{
		"logs": 1, "metrics": 1, "profiles": 2, "profiles_alone": 1, "profiles_before_dictionary": 2,
	} {
		message := load(t, "signals/"+name+".pb")
		signal, _, _ := strings.Cut(name, "_")
		want := slices.Repeat([]string{"{Reason:other_signal N:1 Signal:" + signal + "}"}, records)
		for format, text := range map[string][]byte{"raw": message, "frames": framed(message)} {
			check.Equal(t, name+", "+format, result{Records: want}, read(readers[format], text))
			if otlp.Sniff(text) == otlp.FramingNone {
				t.Errorf("%s, %s: no framing", name, format)
			}
		}
	}
}

type reader func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]

// result has a reader's records and errors as text.
type result struct {
	Records []string
	Bad     []string
	Err     string
}

func read(r reader, text []byte) result { return readWith(r, text, nil) }

func readWith(r reader, text []byte, m *attr.Mapping) result {
	return resultOf(r(bytes.NewReader(text), "input", m))
}

func readFrom(r reader, src io.Reader) result { return resultOf(r(src, "input", nil)) }

func resultOf(records iter.Seq2[op.Record, error]) (res result) {
	for rec, err := range records {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			note := syntax.Error()
			if syntax.Truncated {
				note += " truncated"
			}
			res.Bad = append(res.Bad, note)
		case err != nil:
			res.Err = err.Error()
		default:
			res.Records = append(res.Records, describe(rec))
		}
	}
	return res
}

// describe returns a record as JSON. It checks every entry.
func describe(rec op.Record) string {
	switch {
	case rec.Entry != nil:
		if err := rec.Entry.Validate(); err != nil {
			return "invalid: " + err.Error()
		}
		return string(rec.Entry.AppendJSON(nil))
	case rec.Span != nil:
		return string(rec.Span.AppendJSON(nil))
	case rec.Resource != nil:
		return string(op.AppendHeader(nil, rec.Resource))
	}
	return fmt.Sprintf("%+v", rec.Skipped)
}

// names returns the operations of a result.
func (r result) names() (names []string) {
	for _, rec := range r.Records {
		if _, rest, ok := strings.Cut(rec, `"operation":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, name)
		}
	}
	return names
}

// readers are the readers by framing.
var readers = map[string]reader{
	"json": otlp.JSONRecords, "frames": otlp.FramedRecords, "raw": otlp.ProtoRecords,
}

func randomTraces(rng *rand.Rand) *tracepb.TracesData {
	return otlptest.RandomTraces(rng, rng.IntN(3), 4)
}

// batch returns a document with one span, an operation of the name.
func batch(name string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{`+
		`"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"lib"},"spans":[%s]}]}]}`, spanOf(name))
}

// spanOf returns the span of an operation.
func spanOf(name string) string {
	return fmt.Sprintf(`{"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"ca979163b1fe8ba7","name":"op",`+
		`"startTimeUnixNano":"1000","endTimeUnixNano":"1600","attributes":[{"key":"tensor.op.name","value":{`+
		`"stringValue":%q}}]}`, name)
}

// withAttribute returns a document with an operation that has one more attribute.
func withAttribute(key, value string) string {
	return strings.Replace(batch("op"), `"attributes":[{"key":"tensor.op.name"`,
		fmt.Sprintf(`"attributes":[{"key":%q,"value":%s},{"key":"tensor.op.name"`, key, value), 1)
}

func TestJSON(t *testing.T) { recordtest.Cases(t, otlp.JSONRecords) }

// A file truncated under its writer begins with zeros.
func TestZerosInFrontOfDocuments(t *testing.T) {
	zeros := strings.Repeat("\x00", 300_000)
	want := read(otlp.JSONRecords, []byte(batch("matmul")+"\n"+batch("matmul")))
	want.Bad = []string{"input:1: zero bytes passed over: 300000 (at byte 0)",
		"input:2: zero bytes passed over: 300000 (at byte 300365)",
		"input:3: zero bytes passed over: 1 (at byte 600730)"}
	got := read(otlp.JSONRecords, []byte(zeros+batch("matmul")+"\n"+zeros+batch("matmul")+"\n\x00"))
	check.Equal(t, "records", want, got)
}

// Text in invalid UTF-8 marks its operation, in each encoding.
func TestInvalidUTF8(t *testing.T) {
	document := []byte(withAttribute("tensor.op.path", "{\"stringValue\":\"a\x7fb\"}")) // libraries refuse 0xff
	message := check.Must(proto.Marshal(otlptest.TracesJSON(t, document)))(t)
	for _, test := range []struct {
		read reader
		text []byte
	}{{otlp.JSONRecords, document}, {otlp.ProtoRecords, message}} {
		res := read(test.read, bytes.ReplaceAll(test.text, []byte("a\x7fb"), []byte("a\xffb")))
		if len(res.Records) != 2 || len(res.Bad) != 0 || !strings.Contains(res.Records[1],
			"\"path\":\"a\ufffdb\",\"warn\":[\"invalid_utf8\"]") {
			t.Errorf("result = %+v", res)
		}
	}
}

// A bad line costs only the line.
func TestJSONManyBadLines(t *testing.T) {
	const n = 200_000
	text := batch("a") + "\n" + batch("b") + "\n" + strings.Repeat("bad\n", n) + batch("c") + "\n"
	res := read(otlp.JSONRecords, []byte(text))
	if len(res.names()) != 3 {
		t.Fatalf("operations %q", res.names())
	}
	var lines int64
	for _, err := range otlp.JSONRecords(strings.NewReader(text), "input", nil) {
		var bad *op.SyntaxError
		if !errors.As(err, &bad) {
			continue
		}
		if want := lines + 3; bad.Line != want {
			t.Fatalf("after %d lines: %v, want line %d", lines, bad, want)
		}
		lines += bad.Count()
	}
	check.Equal(t, "bad lines", n, lines)
}

// The resource is unknown behind damage that may hide another resource.
func TestJSONResourceBehindDamage(t *testing.T) {
	first, second := strings.TrimSuffix(batch("a"), `]}]}]}`), strings.TrimPrefix(batch("b"), `{"resourceSpans":[`)
	res := read(otlp.JSONRecords, []byte(first+`,{"name":"x]}]},`+second+"\n"+batch("c")))
	services := make(map[string]bool)
	for i, name := range res.names() {
		entries := slices.DeleteFunc(slices.Clone(res.Records),
			func(r string) bool { return !strings.Contains(r, `"operation"`) })
		services[name] = strings.Contains(entries[i], `"service":"svc"`)
	}
	check.Equal(t, "operations with the service", map[string]bool{"a": true, "b": false, "c": true}, services)
	check.Equal(t, "errors", 1, len(res.Bad))
}
