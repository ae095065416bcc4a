package jaeger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func transcript(t testing.TB, text string) string {
	t.Helper()
	return recordtest.Transcript(t, jaeger.Records(strings.NewReader(text), "answer", nil))
}

// TestGolden reads answers of Jaeger 1.76 and 2.20 to the same requests.
func TestGolden(t *testing.T) { recordtest.Golden(t, ".json", jaeger.Records) }

// answer puts spans into an answer, with their processes behind them.
func answer(spans string) string {
	return `{"data":[{"traceID":"0af7651916cd43dd8448eb211c80319c","spans":[` + spans +
		`],"processes":{"p1":{"serviceName":"api","tags":[{"key":"tensor.rank","type":"int64","value":3},` +
		`{"key":"host","type":"string",` +
		`"value":"h"}]},"p2":{"serviceName":"missing-service-name"}},"warnings":null}],"errors":null}`
}

const (
	resource = `{"schema":"optrace.entries/v1","resource":{"service":"api","rank":3,"attrs":{"host":"h"}}}` + "\n"
	ids      = `"traceID":"0af7651916cd43dd8448eb211c80319c","spanID":"00f067aa0ba902b7","processID":"p1"`
	wantIDs  = `"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7"`
)

// bare returns the trace in an answer.
func bare(answer string) string {
	return strings.TrimSuffix(strings.TrimPrefix(answer, `{"data":[`), `],"errors":null}`)
}

func TestRecords(t *testing.T) {
	// entry is the entry of an operation x, given the members after its ids.
	entry := func(rest string) string {
		return resource + `{"step":null,"operation":"x","device_id":null,"input_shapes":null,"output_shape":null,` +
			`"duration_us":5,"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1000,` +
			`"duration_ns":5000,"rank":3,` + wantIDs + `,` + rest + "\n"
	}
	x := func(members, tags string) string {
		return answer(`{` + ids + `,"operationName":"x","startTime":1,"duration":5` + members +
			`,"tags":[{"key":"tensor.op.name","type":"string","value":"x"}` + tags + `]}`)
	}
	tag := func(key, kind, value string) string {
		return `,{"key":"` + key + `","type":"` + kind + `","value":` + value + `}`
	}
	for _, test := range []struct{ name, text, want string }{
		{"no traces", `{"data":[],"errors":null}`, ""},
		{"nothing", `{}`, ""},
		{"an operation", x("", ""), entry(`"service":"api","warn":["us_truncated"]}`)},
		{
			"what is no operation", answer(`{` + ids + `,"operationName":"GET","startTime":1,"duration":5}`),
			resource + `{"span":{"name":"GET",` + wantIDs +
				`,"start_unix_ns":1000,"duration_ns":5000,"service":"api"}}` + "\n",
		},
		{
			"a server's span, with its parent elsewhere",
			answer(`{` + ids + `,"operationName":"GET","startTime":1,"duration":5,"references":[{` +
				`"refType":"CHILD_OF","traceID":"0af7651916cd43dd8448eb211c80319c","spanID":"b7ad6b7169203331"}],` +
				`"tags":[{"key":"span.kind","type":"string","value":"server"}]}`),
			resource + `{"span":{"name":"GET",` + wantIDs +
				`,"parent_span_id":"b7ad6b7169203331","parent_remote":true,"start_unix_ns":1000,` +
				`"duration_ns":5000,"service":"api"}}` + "\n",
		},
		{"error=true", x("", tag("error", "bool", "true")),
			entry(`"service":"api","error":"","warn":["us_truncated"]}`)},
		{
			"error in a log", x(`,"logs":[{"timestamp":1,"fields":[{"key":"message","type":"string","value":"out of `+
				`memory"},{"key":"event","type":"string","value":"error"}]}]`, tag("error", "bool", "true")),
			entry(`"service":"api","error":"out of memory","warn":["us_truncated"]}`),
		},
		{
			"request that failed", answer(`{` + ids + `,"operationName":"GET","startTime":1,"duration":5,"tags":[{` +
				`"key":"error","type":"bool",` +
				`"value":true},{"key":"otel.status_description","type":"string","value":"status 500"}]}`),
			resource + `{"span":{"name":"GET",` + wantIDs +
				`,"start_unix_ns":1000,"duration_ns":5000,"service":"api","failed":true,` +
				`"extra":{"message":"status 500"}}}` + "\n",
		},
		{"status OK", x("", tag("otel.status_code", "string", `"OK"`)),
			entry(`"service":"api","warn":["us_truncated"]}`)},
		{"scope in old versions", x("", tag("otel.library.name", "string", `"engine"`)),
			entry(`"service":"api","scope":"engine","warn":["us_truncated"]}`)},
		{
			"values of odd types", x("", tag("tensor.path", "map", `{"a":1}`)+tag("tensor.device.id", "string",
				"null")+`,7,{"type":"string"}`+tag("tensor.memory.size", "binary", `"AQID"`)),
			entry(`"service":"api","warn":["bad_memory","us_truncated"]}`),
		},
		{"id that is none", strings.ReplaceAll(x("", ""), "00f067aa0ba902b7", "nope"),
			strings.Replace(entry(`"service":"api","warn":["bad_id","us_truncated"]}`), `,"span_id":"00f067aa0ba902b7"`,
				"", 1)},
		{
			"ids without leading zeros", strings.NewReplacer("00f067aa0ba902b7", "f067aa0ba902b7",
				"0af7651916cd43dd8448eb211c80319c", "8448eb211c80319c").Replace(x("", "")),
			strings.Replace(entry(`"service":"api","warn":["us_truncated"]}`),
				"0af7651916cd43dd8448eb211c80319c", "00000000000000008448eb211c80319c", 1),
		},
		{
			"a process without a service", strings.Replace(x("", ""), `"processID":"p1"`, `"processID":"p2"`, 1),
			strings.NewReplacer(`"rank":3,`, "", resource, `{"schema":"optrace.entries/v1","resource":{`+
				`}}`+"\n").Replace(entry(`"warn":["us_truncated"]}`)),
		},
		{
			"a process that is not there", strings.Replace(x("", ""), `"processID":"p1"`, `"processID":"p9"`, 1),
			strings.NewReplacer(`"rank":3,`, "", resource, "").Replace(entry(`"warn":["us_truncated"]}`)),
		},
		{
			"processes in front", `{"data":[{"processes":{"p1":{"serviceName":"api"}},"spans":[{` + ids +
				`,"operationName":"GET","startTime":1,"duration":5}]}]}`,
			`{"schema":"optrace.entries/v1","resource":{"service":"api"}}` + "\n" + `{"span":{"name":"GET",` + wantIDs +
				`,"start_unix_ns":1000,"duration_ns":5000,"service":"api"}}` + "\n",
		},
		{
			"no times", answer(`{` + ids + `,"tags":[{"key":"tensor.op.name","value":"x"}]}`),
			strings.NewReplacer(`"start_unix_ns":1000,`, "", `"duration_us":5,`, `"duration_us":0,`, "5000",
				"0").Replace(entry(`"service":"api","warn":["bad_time","us_truncated"]}`)),
		},
		{
			"spans that cannot be read", answer(`7,{` + ids + `,"operationName":x},{` + ids +
				`,"operationName":"GET","startTime":1,"duration":5}`),
			"error: answer: expected an object, found '7' (at byte 64)\nerror: answer: expected a value, found 'x' " +
				"(at byte 173)\n" + resource + `{"span":{"name":"GET",` + wantIDs +
				`,"start_unix_ns":1000,"duration_ns":5000,"service":"api"}}` + "\n",
		},
		{
			"processes that cannot be read", `{"data":[{"spans":[{` + ids +
				`}],"processes":[]},{"spans":7,"processes":{"p":7}}]}`,
			"error: answer: expected an object, found '[' (at byte 124)\n" + `{"span":{"name":"",` + wantIDs +
				`,"duration_ns":0}}` + "\nerror: answer: spans are no array (at byte 129)\n",
		},
		{
			"cut off behind a span", x("", "")[:330],
			strings.NewReplacer(`"rank":3,`, "", resource, "").Replace(entry(`"warn":["us_truncated"]}`)) +
				"error: answer: unexpected end of JSON text (at byte 330)\n",
		},
		{
			"part of the data", strings.Replace(x("", ""), `"errors":null`,
				`"errors":[{"code":500,"msg":"shard down"}]`, 1),
			entry(`"service":"api","warn":["us_truncated"]}`) +
				"error: answer: incomplete answer, the server's error: \"shard down\" (at byte 477)\n",
		},
		{
			"placeholders for ids, and no start", strings.NewReplacer("0af7651916cd43dd8448eb211c80319c",
				opfile.PlaceholderTraceID(1).String(), `"startTime":1`, `"startTime":0`).Replace(x("", "")),
			strings.NewReplacer(`"start_unix_ns":1000,`, "", wantIDs+",",
				"").Replace(entry(`"service":"api","warn":["no_start","us_truncated"]}`)),
		},
		{
			"no start and no duration", strings.Replace(x("", ""), `"startTime":1,"duration":5`,
				`"startTime":0,"duration":0`, 1),
			strings.NewReplacer(`"start_unix_ns":1000,`, "", `"duration_us":5,`, `"duration_us":0,`, "5000",
				"0").Replace(entry(`"service":"api","warn":["bad_time","us_truncated"]}`)),
		},
		{"traces without an answer", bare(x("", "")) + "\n[" + bare(x("", "")) + "]\n" + bare(x("", "")),
			strings.Repeat(entry(`"service":"api","warn":["us_truncated"]}`), 3)},
		{"damage in a tag", x("", tag("other", "float64", "NaN")+tag("path", "string", `"C:\x"`)),
			entry(`"service":"api","warn":["us_truncated"]}`)},
		{"damage in a tag with a meaning", x("", tag("tensor.step", "float64", "NaN")),
			entry(`"service":"api","warn":["bad_value","us_truncated"]}`)},
		{"two answers", x("", "") + "\n" + x("", ""), entry(`"service":"api","warn":["us_truncated"]}`) +
			entry(`"service":"api","warn":["us_truncated"]}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, "records", test.want, transcript(t, test.text))
		})
	}
}

func TestParent(t *testing.T) {
	const trace, other = "0af7651916cd43dd8448eb211c80319c", "11111111111111111111111111111111"
	ref := func(kind, trace, id string) string {
		return `{"refType":"` + kind + `","traceID":"` + trace + `","spanID":"` + id + `"}`
	}
	for _, test := range []struct{ name, members, want string }{
		{"none", `"references":[]`, ""},
		{"null", `"references":null`, ""},
		{"CHILD_OF", `"references":[` + ref("CHILD_OF", trace, "a1") + `]`, "a1"},
		{"CHILD_OF behind a link", `"references":[` + ref("FOLLOWS_FROM", trace, "b2") + `,` +
			ref("CHILD_OF", trace, "a1") + `]`, "a1"},
		{"a link to the parent", `"references":[7,` + ref("FOLLOWS_FROM", other, "b2") + `,` +
			ref("FOLLOWS_FROM", trace, "a1") + `]`, "a1"},
		{"links to other traces only", `"references":[` + ref("FOLLOWS_FROM", other, "b2") + `,` +
			ref("CHILD_OF", other, "a1") + `]`, ""},
		{"named as such", `"parentSpanID":"a1"`, "a1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := `{"data":[{"spans":[{` + test.members + `,"operationName":"s","traceID":"` + trace +
				`","spanID":"c3"}]}]}`
			_, spans := recordtest.Split(t, jaeger.Records(strings.NewReader(text), "answer", nil))
			check.Equal(t, "parent", test.want, strings.TrimLeft(spans[0].ParentSpanID.String(), "0"))
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"data":null,"total":0,"errors":[{"code":500,"msg":"json: unsupported value: NaN"}]}`,
			"json: unsupported value: NaN"},
		{`{"error":{"httpCode":404,"message":"No traces found"}}`, "No traces found"},
		{`{"code":5,"message":"not found","details":[]}`, "not found"},
		{`{"errors":[{"code":7}]}`, `[{"code":7}]`},
	} {
		var last error
		n := 0
		for _, err := range jaeger.Records(strings.NewReader(test.text), "answer", nil) {
			last = err
			n++
		}
		var server *jaeger.ServerError
		if n != 1 || !errors.As(last, &server) || !strings.HasPrefix(server.Message, test.want) {
			t.Errorf("%s: %d records, %v; want %q", test.text, n, last, test.want)
		}
	}
}

func TestRecordsEnd(t *testing.T) {
	recordtest.Ends(t, jaeger.Records, string(check.Must(os.ReadFile("testdata/v2.20.search.json"))(t)),
		answer(`7,{`+ids+`}`), `{"data":[{"processes":[],"spans":[7,{}]}]}`, answer(`{}`)[:80])
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(answer(`{` + ids + `,"references":[{"refType":"CHILD_OF"}],"tags":[{"key":"op","value":"x"},` +
		`{"key":"output_shape","value":"[2,3]"},{"key":"error","value":true}]}`)))
	f.Add([]byte(`{"data":null,"errors":[{"msg":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, jaeger.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

func BenchmarkReadJaeger(b *testing.B) {
	one := check.Must(os.ReadFile(filepath.Join("testdata", "v2.20.search.json")))(b)
	const answers = 100
	text := bytes.Repeat(one, answers)
	recordtest.Benchmark(b, text, 21*answers, jaeger.Records)
}

// lost lists the fields missing in API version 1: it floors times, fails on numbers that are not finite, and has no
// spans without ids, times or a process.
var lost = []string{"Nanoseconds", "NonFinite", "InvalidUTF8", "EndBeforeStart", "NoTime", "NoIDs", "NoResource",
	"LinkAttributes"}

func TestConformance(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Has(lost...) {
			t.Skip("API version 1 cannot hold the span")
		}
		for rec, err := range jaeger.Records(strings.NewReader(encode(t, c)), "answer", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				e := rec.Entry.Clone()
				if c.Want != nil && c.Want.Warn&op.WarnMicroseconds == 0 {
					e.Warn &^= op.WarnMicroseconds // the mark on all entries
				}
				return e, true
			}
		}
		return nil, false
	})
}

// encode returns Jaeger's answer for a span.
func encode(t *testing.T, c optest.Case) string {
	t.Helper()
	s := c.Span
	tags := tagsOf(s.Attributes)
	add := func(key, kind string, value any) {
		tags = append(tags, map[string]any{"key": key, "type": kind, "value": value})
	}
	if s.InstrumentationScope.Name != "" {
		add("otel.scope.name", "string", s.InstrumentationScope.Name)
	}
	if s.Status.Code == codes.Error {
		add("error", "bool", true)
		add("otel.status_code", "string", "ERROR")
		add("otel.status_description", "string", s.Status.Description)
	}
	if c.TraceState != "" {
		add("w3c.tracestate", "string", c.TraceState)
	}
	if s.DroppedAttributes > 0 {
		add("otel.dropped_attributes_count", "int64", s.DroppedAttributes)
	}
	if s.DroppedLinks > 0 {
		add("otel.dropped_links_count", "int64", s.DroppedLinks)
	}
	service := "missing-service-name"
	resource := s.Resource.Attributes()
	if name, ok := s.Resource.Set().Value(attrkey.ServiceName); ok {
		service = name.AsString()
		resource = slices.DeleteFunc(resource, func(a attribute.KeyValue) bool { return a.Key == attrkey.ServiceName })
	}
	span := map[string]any{
		"traceID": s.SpanContext.TraceID(), "spanID": s.SpanContext.SpanID(), "operationName": s.Name,
		"processID": "p1", "tags": tags,
		"startTime": s.StartTime.UnixMicro(), "duration": s.EndTime.Sub(s.StartTime).Microseconds(),
	}
	var references []any
	refer := func(kind string, to trace.SpanContext) {
		references = append(references, map[string]any{"refType": kind, "traceID": to.TraceID(), "spanID": to.SpanID()})
	}
	for _, l := range s.Links {
		refer("FOLLOWS_FROM", l.SpanContext)
	}
	if s.Parent.HasSpanID() {
		refer("CHILD_OF", s.Parent)
	}
	span["references"] = references
	text := check.Must(json.Marshal(map[string]any{"data": []any{map[string]any{
		"spans":     []any{span},
		"processes": map[string]any{"p1": map[string]any{"serviceName": service, "tags": tagsOf(resource)}},
	}}}))(t)
	return string(text)
}

func tagsOf(attrs []attribute.KeyValue) []any {
	tags := []any{}
	for _, a := range attrs {
		kind := "string"
		value := any(a.Value.String()) // lists and maps become text
		switch a.Value.Type() {
		case attribute.BOOL:
			kind = "bool"
			value = a.Value.AsBool()
		case attribute.FLOAT64:
			kind = "float64"
			value = a.Value.AsFloat64()
		case attribute.INT64:
			kind = "int64"
			if const53 := int64(1)<<53 - 1; a.Value.AsInt64() <= const53 && a.Value.AsInt64() >= -const53 {
				value = a.Value.AsInt64()
			}
		}
		tags = append(tags, map[string]any{"key": a.Key, "type": kind, "value": value})
	}
	return tags
}
