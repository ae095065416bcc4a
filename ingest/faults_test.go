package ingest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// document is a text of two operations, first and second, in a JSON format. The marks ◂ and ▸ enclose the members of
// the first operation, the mark ¶ follows the members of the second.
type document struct {
	format string
	text   string
	name   string // the member that names the operation X
	upper  string // the same in another case
}

// documents returns a document for each format.
func documents() []document {
	otlpSpan := func(id, name, more string) string {
		return fmt.Sprintf(`{%s"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"%s","name":"%s",`+
			`"startTimeUnixNano":"1000",`+
			`"endTimeUnixNano":"1600","attributes":[{"key":"tensor.op.name","value":{"stringValue":""}}]`, more, id,
			name)
	}
	otlp := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + otlpSpan("ca979163b1fe8ba7", "first", "◂") + `▸},` +
		otlpSpan("ca979163b1fe8ba8", "second", "") + `¶}]}]}]}`
	jaeger := func(id, name, more string) string {
		return fmt.Sprintf(`{%s"traceID":"4d02081d276cbb954beb68be77c6566e","spanID":"%s","operationName":"%s",`+
			`"references":[],"startTime":1,`+
			`"duration":1,"tags":[{"key":"tensor.op.name","type":"string","value":""}],"processID":"p1"`, more, id,
			name)
	}
	trace := `{"traceID":"4d02081d276cbb954beb68be77c6566e","spans":[` + jaeger("ca979163b1fe8ba7", "first", "◂") +
		"▸}," + jaeger("ca979163b1fe8ba8", "second", "") + `¶}],"processes":{"p1":{"serviceName":"s","tags":[]}}}`
	printed := func(id, name, more string) string {
		return fmt.Sprintf(`{"SpanContext":{"TraceID":"4d02081d276cbb954beb68be77c6566e","SpanID":"%s"},%s"Name":"%s",`+
			`"StartTime":"2026-11-21T01:23:22.64Z","EndTime":"2026-11-21T01:23:22.65Z",`+
			`"Attributes":[{"Key":"tensor.op.name","Value":{"Type":"STRING","Value":""}}]`, id, more, name)
	}
	python := func(id, name, more string) string {
		return fmt.Sprintf(`{"context":{"trace_id":"0x4d02081d276cbb954beb68be77c6566e","span_id":"0x%s"},%s`+
			`"name":"%s","parent_id":null,"start_time":"2026-11-21T01:23:22.640000Z",`+
			`"end_time":"2026-11-21T01:23:22.650000Z",`+
			`"attributes":{"tensor.op.name":""}`, id, more, name)
	}
	event := func(name, more string) string {
		return fmt.Sprintf(`{%s"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":10,"dur":2`, more, name)
	}
	return []document{
		{
			"entries-jsonl", "{◂\"operation\":\"first\",\"duration_us\":1▸}\n{\"operation\":\"second\"," +
				"\"duration_us\":1¶}\n",
			`"operation":"X"`, `"OPERATION":"X"`,
		},
		{
			"trace-json", `{"entries":[{◂"step":0,"operation":"first","duration_us":2.0▸},` +
				`{"step":1,"operation":"second","duration_us":2.0¶}],"total_duration_us":4,"metadata":{}}`,
			`"operation":"X"`, `"Operation":"X"`,
		},
		{"otlp-json", otlp, `"name":"X"`, `"Name":"X"`},
		{"jaeger-v3", `{"result":` + otlp + `}`, `"name":"X"`, `"NAME":"X"`},
		{"otlp-json", `{"trace": ` + otlp + `,"metrics":{}}`, `"name":"X"`, `"NAME":"X"`},
		{"otlp-json", strings.NewReplacer(`{"resourceSpans":[{`, `{"resource":{},`, `}]}]}`, `}]}`).Replace(otlp),
			`"name":"X"`, `"NAME":"X"`},
		{"jaeger-v1", `{"data":[` + trace + `]}`, `"operationName":"X"`, `"OperationName":"X"`},
		{"jaeger-v1", trace, `"operationName":"X"`, `"OperationName":"X"`},
		{"jaeger-v1", `[` + trace + `]`, `"operationName":"X"`, `"OperationName":"X"`},
		{
			"stdouttrace", printed("ca979163b1fe8ba7", "first", "◂") + "▸}\n" + printed("ca979163b1fe8ba8", "second",
				"") + "¶}\n",
			`"Name":"X"`, `"name":"X"`,
		},
		{
			"stdouttrace", "[\n" + printed("ca979163b1fe8ba7", "first", "◂") + "▸},\n" + printed("ca979163b1fe8ba8",
				"second", "") + "¶}\n]\n",
			`"Name":"X"`, `"name":"X"`,
		},
		{
			"python-console", python("ca979163b1fe8ba7", "first", "◂") + "▸}\n" +
				python("ca979163b1fe8ba8", "second", "") + "¶}\n",
			`"name":"X"`, `"Name":"X"`,
		},
		{"chrome", `{"traceEvents":[` + event("first", "◂") + "▸}," + event("second", "") + `¶}]}`, `"name":"X"`,
			`"Name":"X"`},
		{"chrome", `{"traceEvents":{"traceEvents":[` + event("first", "◂") + "▸}," + event("second", "") + `¶}]}}`,
			`"name":"X"`, `"Name":"X"`},
	}
}

// with returns the text with members in front of the first operation's, behind them, and behind the second one's.
func (d document) with(front, behind, second string) []byte {
	comma := func(members string) string {
		if members != "" {
			return ","
		}
		return ""
	}
	return []byte(strings.NewReplacer("◂", front+comma(front), "▸", comma(behind)+behind, "¶",
		comma(second)+second).Replace(d.text))
}

func named(member, name string) string { return strings.Replace(member, "X", name, 1) }

// G9: in every format the last of equal keys counts, and case matters.
func TestKeysOfJSON(t *testing.T) {
	for _, d := range documents() {
		for _, test := range []struct{ name, front, behind, want string }{
			{"as it is", "", "", "first"},
			{"twice", named(d.name, "other"), "", "first"},
			{"twice, the other way round", "", named(d.name, "other"), "other"},
			{"another case in front", named(d.upper, "other"), "", "first"},
			{"another case behind", "", named(d.upper, "other"), "first"},
			{"G7 keys of a later version", `"new":{"a":[1,{"b":null}]}`, `"newer":[{}]`, "first"},
		} {
			t.Run(d.format+" "+test.name, func(t *testing.T) {
				in := ingest.Open(write(t, filepath.Join(t.TempDir(), "input"), d.with(test.front, test.behind, "")))
				names, bad, err := read(in)
				if diff := cmp.Diff([]string{test.want, "second"}, names); diff != "" || err != nil || len(bad) > 0 {
					t.Errorf("bad %q, error %v, operations (-want +got):\n%s", bad, err, diff)
				}
				if diff := cmp.Diff([]string{d.format}, in.Stats().Formats); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// G5: in every format a million brackets cost their record, and no stack.
func TestDeepNesting(t *testing.T) {
	const depth = 1_000_000
	far := `"long":"` + strings.Repeat("x", 300<<10) + `"` // behind what the format is recognised by
	for d := range cases.Of(t, 2, documents()) {
		for name, value := range map[string]string{
			"lists":   strings.Repeat("[", depth) + strings.Repeat("]", depth),
			"objects": strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
		} {
			t.Run(d.format+" "+name, func(t *testing.T) {
				names, bad, err := read(ingest.Open(write(t, filepath.Join(t.TempDir(), "input"),
					d.with("", far, `"deep":`+value))))
				if diff := cmp.Diff([]string{"first"}, names); diff != "" || err != nil {
					t.Errorf("error %v, operations (-want +got):\n%s", err, diff)
				}
				if len(bad) != 1 || !strings.Contains(bad[0], "nested deeper") {
					t.Errorf("bad records %q", bad)
				}
			})
		}
	}
}

// G7: the first record decides the format. Lines of other formats are counted.
func TestForeignLines(t *testing.T) {
	otlp := string(documents()[2].with("", "", "")) + "\n"
	for _, test := range []struct {
		name, text string
		want       []string
		skipped    int64
		bad        int
	}{
		{"OTLP among entries", entryLine + otlp + entryLine, []string{"matmul", "matmul"}, 1, 0},
		{"entries among OTLP", otlp + entryLine + otlp, []string{"first", "second", "first", "second"}, 1, 0},
		{"text among entries", entryLine + "2026-11-21 INFO started\n" + entryLine, []string{"matmul", "matmul"}, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			skipped := int64(0)
			bad := 0
			for rec, err := range ingest.Open(write(t, filepath.Join(t.TempDir(), "input"),
				[]byte(test.text))).Records() {
				switch {
				case err != nil:
					bad++
				case rec.Entry != nil:
					names = append(names, rec.Entry.Operation)
				case rec.Skipped.Reason == op.SkipUnknownRecord:
					skipped += rec.Skipped.N
				}
			}
			if diff := cmp.Diff(test.want, names); diff != "" || skipped != test.skipped || bad != test.bad {
				t.Errorf("%d skipped, %d bad, operations (-want +got):\n%s", skipped, bad, diff)
			}
		})
	}
}

// G2: a frame with a window above the limit is refused before its memory is allocated.
func TestHugeWindow(t *testing.T) {
	for _, window := range []byte{0xff, 20 << 3} { // 3.75 TiB and 1 GiB
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, 1, 0, 0} // one empty block, the last
		path := write(t, filepath.Join(t.TempDir(), "input.zst"), append(zstandard(t, entryLine), frame...))
		var err error
		n := check.Allocated(func() { _, _, err = read(ingest.Open(path)) })
		check.Says(t, fmt.Sprintf("window %#x", window), "zstd frame asks for more than 134217728 bytes", err)
		if n > 16<<20 {
			t.Errorf("window %#x: %d bytes are allocated", window, n)
		}
	}
}
