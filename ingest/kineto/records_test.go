package kineto_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const kernel = `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10.25,"dur":2,"args":{"device":0,` +
	`"stream":7}}`

func TestRecords(t *testing.T) { recordtest.Cases(t, kineto.Records) }

// withoutIDs removes the made-up ids, see [TestNesting].
func withoutIDs(transcript string) string {
	return regexp.MustCompile(`,"trace_id":"6f70747261636501[^"]*","span_id":"[^"]*"`).ReplaceAllString(transcript, "")
}

// Of several calls with a correlation id the earliest one launches, and the operator around it counts; without one, the
// first operator with the external id, unless that repeats the correlation id.
func TestJoin(t *testing.T) {
	event := func(cat, name string, tid, ts int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%d,"dur":5,"args":{%s}},`, cat, name,
			tid, ts, args)
	}
	hosts := event("cpu_op", "around", 1, 8, `"External id":9`) + event("cpu_op", "first", 1, 40, `"External id":4`) +
		event("cpu_op", "second", 1, 50, `"External id":4`) + event("cpu_op", "bare", 1, 60, ``)
	for i, correlation := range []int{5, 2, 5, -1} {
		hosts += event("cuda_runtime", "call", 1, []int{30, 20, 10, 1}[i], fmt.Sprint(`"correlation":`, correlation))
	}
	for args, want := range map[string]string{
		`"correlation":5`: "10000 by around", `"correlation":2`: "20000 by ", `"correlation":-1`: "1000 by ",
		`"correlation":3`: "unknown by ", `"correlation":9`: "unknown by ", ``: "unknown by ",
		`"External id":5`: "unknown by ",
		`"External id":4`: "unknown by first", `"correlation":7,"External id":4`: "unknown by first",
		`"correlation":2,"External id":4`: "20000 by first", `"correlation":4,"External id":4`: "unknown by ",
	} {
		trace := "[" + hosts + event("kernel", "k", 7, 90, args) + "{}]"
		entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(trace), "trace", nil))
		e := entries[len(entries)-1]
		check.Equal(t, args, want, e.Launch.String()+" by "+e.LaunchedBy)
	}
}

func TestRecordsReportTheCutOnce(t *testing.T) {
	text := check.Must(os.ReadFile("testdata/train.json"))(t)
	whole := len(strings.TrimSpace(string(text)))
	for n := 1; n < whole; n += 37 {
		errs := 0
		for _, err := range kineto.Records(strings.NewReader(string(text[:n])), "trace", nil) {
			if err == nil {
				continue
			}
			errs++
			var syntax *op.SyntaxError
			if !errors.As(err, &syntax) || !syntax.Truncated || syntax.Offset != int64(n) {
				t.Errorf("cut at %d: %v", n, err)
			}
		}
		if errs != 1 {
			t.Errorf("cut at %d: %d errors", n, errs)
		}
	}
}

func TestRecordsWithMapping(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("queued")
	m.Keep("correlation")
	m.Alias("layer", attrkey.Path)
	text := `[{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2,"args":{"queued":0,"grid":[1,2],"layer":"encoder` +
		`.0","device":3,` +
		`"correlation":8}},
		{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,"args":{"layer":"encoder.1","Input Dims":[[2]]}}]`
	want := `{"step":null,"operation":"aten::mm","device_id":"cpu","input_shapes":[[2]],"output_shape":null,` +
		`"duration_us":2,` +
		`"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1000,"duration_ns":2000,"path":"encoder.1","side":"host"}
{"step":null,"operation":"gemm","device_id":"cuda:3","input_shapes":null,"output_shape":null,"duration_us":2,"output_elements":null,` +
		`"memory_bytes":null,"kind":"compute","start_unix_ns":1000,"duration_ns":2000,"path":"encoder.0",` +
		`"attrs":{"queued":0,"correlation":8,"grid":[1,2]}}
`
	check.Equal(t, "records", want, withoutIDs(transcript(t, []byte(text), m)))
}

// Host operators are children of the innermost operator around them on their thread, device events have no parent, and
// ids differ between traces.
func TestNesting(t *testing.T) {
	event := func(cat, name, pid, tid string, ts, dur int) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%s,"tid":%s,"ts":%d,"dur":%d}`, cat, name, pid, tid, ts,
			dur)
	}
	host := func(name string, ts, dur int) string { return event("cpu_op", name, "1", "1", ts, dur) }
	for _, test := range []struct {
		name   string
		events []string
		want   string // "child<parent" in the order of the records
	}{
		{"nested", []string{host("c", 2, 3), host("a", 0, 10), host("b", 1, 8)}, "c<b a b<a"},
		{"one after the other", []string{host("a", 0, 5), host("b", 5, 5)}, "a b"},
		{"at the beginning and at the end", []string{host("a", 0, 9), host("b", 0, 4), host("c", 4, 5)}, "a b<a c<a"},
		{"the same time", []string{host("a", 0, 9), host("b", 0, 9)}, "a b<a"},
		{"overlap", []string{host("a", 0, 6), host("b", 5, 6), host("c", 7, 2)}, "a b c<b"},
		{"overlap within another", []string{host("a", 0, 20), host("b", 1, 6), host("c", 5, 6)}, "a b<a c<a"},
		{"no duration", []string{host("a", 0, 6), host("b", 3, 0), host("c", 6, 0), host("d", 3, 0)}, "a b<a c d<a"},
		{"other threads", []string{host("a", 0, 9), event("cpu_op", "b", "1", "2", 1, 2), event("cpu_op", "c", "2", "1",
			1, 2)}, "a b c"},
		{"a device", []string{host("a", 0, 9), event("kernel", "k", "1", "1", 1, 2)}, "a k"},
		{"behind a launch", []string{
			host("a", 0, 9), event("cuda_runtime", "launch", "1", "1", 1, 1), host("b", 3, 2), host("c", 4, 1),
		}, "a b<a c<b"},
	} {
		names := map[op.SpanID]string{}
		var got []string
		var traces []op.TraceID
		entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader("["+strings.Join(test.events, ",")+"]"),
			"trace", nil))
		for _, e := range entries { // parents may come behind their children
			names[e.SpanID] = e.Operation
			traces = append(traces, e.TraceID)
		}
		for _, e := range entries {
			text := e.Operation
			if !e.ParentSpanID.IsZero() {
				text += "<" + names[e.ParentSpanID]
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != test.want || len(names) != len(entries) {
			t.Errorf("%s: %q, want %s", test.name, got, test.want)
		}
		if len(slices.Compact(traces)) != 1 || !opfile.IsLocal(traces[0]) {
			t.Errorf("%s: traces %v", test.name, traces)
		}
	}
}

// Equal content has equal ids in any file, other content has other ids.
func TestTraceIDs(t *testing.T) {
	ids := map[op.TraceID]string{}
	for _, text := range []string{
		`[` + kernel + `]`,
		`[` + strings.Replace(kernel, "gemm", "gemv", 1) + `]`,
		`[` + strings.Replace(kernel, "10.25", "10.251", 1) + `]`,
		`[` + strings.Replace(kernel, `"dur":2`, `"dur":3`, 1) + `]`,
		`[` + strings.Replace(kernel, `"stream":7`, `"stream":8`, 1) + `]`,
		`[` + strings.Replace(kernel, `kernel`, `cpu_op`, 1) + `]`,
		`{"traceEvents":[` + kernel + `],"distributedInfo":{"rank":1}}`,
		`{"traceEvents":[` + kernel + `],"baseTimeNanoseconds":1}`,
	} {
		for range 2 {
			entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
			for _, e := range entries {
				if other, found := ids[e.TraceID]; found && other != text {
					t.Errorf("%s and %s have the same id", text, other)
				}
				ids[e.TraceID] = text
			}
		}
	}
	check.Equal(t, "ids", 8, len(ids))
}

func TestRecordsEnd(t *testing.T) {
	bad := `[{"ph":"X"},{"ph":"X","name":"s","ts":1,"dur":2,"args":{"tensor.op.name":"relu"}},` + kernel
	recordtest.Ends(t, kineto.Records, string(check.Must(os.ReadFile("testdata/train.json"))(t)), bad+"]", bad)
}

// transcript returns the records of a trace, one per line.
func transcript(t testing.TB, text []byte, m *attr.Mapping) string {
	t.Helper()
	return recordtest.Transcript(t, kineto.Records(bytes.NewReader(text), "trace", m))
}

// TestGolden reads each trace in testdata:
//
//	train.json           events of a training run: fractional times, launches
//	                     before and behind their kernels, nested operators,
//	                     overlapping streams, collectives; rank and time base
//	                     behind the events
//	rocm.json            AMD's calls, without a rank
//	first_versions.json  capitalised categories in a bare array; external ids
//	                     that repeat the correlation id
//	plain.json           no categories of Kineto: spans with ids, begin and end
func TestGolden(t *testing.T) { recordtest.Golden(t, ".json", kineto.Records) }
