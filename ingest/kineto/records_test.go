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

// wantKernel is the record of kernel at a start in nanoseconds.
func wantKernel(start string) string {
	return `{"step":null,"operation":"gemm","device_id":"cuda:0","input_shapes":null,"output_shape":null,` +
		`"duration_us":2,"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":` +
		start + `,"duration_ns":2000,"stream":7}` + "\n"
}

// withoutIDs removes the made-up ids, see [TestNesting].
func withoutIDs(transcript string) string {
	return regexp.MustCompile(`,"trace_id":"6f70747261636501[^"]*","span_id":"[^"]*"`).ReplaceAllString(transcript, "")
}

func TestRecords(t *testing.T) {
	const span = `{"ph":"X","name":"s","pid":1,"tid":1,"ts":1,"dur":2,"args":{"tensor.op.name":"relu"}}`
	const wantSpan = `{"step":null,"operation":"relu","device_id":null,"input_shapes":null,"output_shape":null,` +
		`"duration_us":2,` +
		`"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1000,"duration_ns":2000}` + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"no events", `{"traceEvents":[]}`, ""},
		{"an empty array", `[]`, ""},
		{"a bare array", `[` + kernel + `]`, wantKernel("10250")},
		{
			"time base in front", `{"baseTimeNanoseconds":1750000000000000000,"traceEvents":[` + kernel + `]}`,
			wantKernel("1750000000000010250"),
		},
		{
			"time base behind", `{"traceEvents":[` + kernel + `],"baseTimeNanoseconds":1750000000000000000}`,
			wantKernel("1750000000000010250"),
		},
		{
			"time base beyond 64 bits", `{"traceEvents":[` + kernel + `],"baseTimeNanoseconds":9223372036854775807}`,
			`{"step":null,"operation":"gemm","device_id":"cuda:0","input_shapes":null,"output_shape":null,` +
				`"duration_us":2,"output_elements":null,"memory_bytes":null,"kind":"compute","duration_ns":2000,` +
				`"stream":7,"warn":["bad_time"]}` + "\n",
		},
		{
			"cut within an event", `{"traceEvents":[` + kernel + `,{"ph":"X","ca`,
			wantKernel("10250") + "error: trace: unexpected end of JSON text (at byte 135)\n",
		},
		{"cut behind an event", `[` + kernel, wantKernel("10250") +
			"error: trace: unexpected end of JSON text (at byte 106)\n"},
		{"something behind the trace", `[` + kernel + `]x`, wantKernel("10250") +
			"error: trace: expected the end of the document, found 'x' (at byte 107)\n"},
		{
			"events that cannot be read",
			`[{"ph":"X","cat":"kernel","dur":1},{"ph":"X","cat":"kernel","ts":1},{"ph":"X","ts":x},7,` + kernel + `]`,
			"error: trace: event without ts (at byte 1)\nerror: trace: event without dur (at byte 35)\n" +
				"error: trace: expected a value, found 'x' (at byte 83)\nerror: trace: expected an object, found " +
				"'7' (at byte 86)\n" + wantKernel("10250"),
		},
		{
			"a negative duration", `[` + strings.Replace(kernel, `"dur":2`, `"dur":-2`, 1) + `]`,
			strings.NewReplacer(`"duration_us":2`, `"duration_us":0`, `2000,"stream":7`,
				`0,"stream":7,"warn":["neg_duration"]`).Replace(wantKernel("10250")),
		},
		{
			"members of the wrong type",
			`{"distributedInfo":[1],"baseTimeNanoseconds":{},"traceEvents":[` + kernel + `]}`, wantKernel("10250"),
		},
		{
			"rank and world in quotes", `{"distributedInfo":{"rank":"3","world_size":-1},"traceEvents":[` + kernel +
				`]}`,
			`{"schema":"optrace.entries/v1","resource":{"rank":3}}` + "\n" + strings.Replace(wantKernel("10250"), `7}`,
				`7,"rank":3}`, 1),
		},
		{
			"no device, stream and launch", `[{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,` +
				`"ts":1,"dur":1,"args":{"correlation":0}},` + strings.NewReplacer(`"device":0,"stream":7`,
				`"device":-1,"stream":-1,"correlation":0`).Replace(kernel) + `]`,
			"skipped runtime_call: 1\n" + strings.NewReplacer(`"cuda:0"`, "null", `,"stream":7`,
				"").Replace(wantKernel("10250")),
		},
		{
			"an event without a name", `[` + strings.Replace(kernel, `"name":"gemm",`, "", 1) + `]`,
			strings.Replace(wantKernel("10250"), "gemm", "unknown", 1),
		},
		{
			"CUPTI knew no time", `{"baseTimeNanoseconds":1750000000000000000,"traceEvents":[` +
				strings.Replace(kernel, `"ts":10.25,"dur":2`, `"ts":0,"dur":0`, 1) + `]}`,
			strings.NewReplacer(`"duration_us":2`, `"duration_us":0`, `"start_unix_ns":10250,"duration_ns":2000,"stream":7`,
				`"duration_ns":0,"stream":7,"warn":["bad_time"]`).Replace(wantKernel("10250")),
		},
		{
			"documents with bases of their own", `{"distributedInfo":{"rank":3},"baseTimeNanoseconds":1,` +
				`"traceEvents":[` + kernel + `]}{"traceEvents":[` + kernel + `],"baseTimeNanoseconds":2}`,
			`{"schema":"optrace.entries/v1","resource":{"rank":3}}` + "\n" +
				strings.Replace(wantKernel("10251"), "7}", `7,"rank":3}`, 1) +
				`{"schema":"optrace.entries/v1","resource":{}}` + "\n" + wantKernel("10252"),
		},
		{
			"damage in arguments", `[` + strings.NewReplacer(`"args":{`,
				`"args":{"bandwidth":inf,"Call stack":"C:\Users\x",`,
				`7}`, `7,}`).Replace(kernel) + `]`, wantKernel("10250"),
		},
		{"damage in an argument with a meaning", `[` + strings.Replace(kernel, `"stream":7`, `"stream":nan`, 1) + `]`,
			strings.Replace(wantKernel("10250"), `"stream":7`, `"warn":["bad_value"]`, 1)},
		{"a plain span", `[` + span + `]`, wantSpan},
		{
			"a plain span in front of the time base", `{"traceEvents":[` + span + `],"baseTimeNanoseconds":5}`,
			wantSpan + "error: trace: time base behind the events, spans that start without it: 1 (at byte 125)\n",
		},
		{"a plain span behind the time base", `{"baseTimeNanoseconds":5,"traceEvents":[` + span + `]}`,
			strings.Replace(wantSpan, "1000", "1005", 1)},
		{
			"a span of a bad id", `[{"ph":"X","name":"s","ts":1,"dur":2,"args":{"op":"relu","output_shape":"2x3",` +
				`"trace_id":"x","span_id":"00f067aa0ba902b7"}}]`,
			`{"step":null,"operation":"relu","device_id":null,"input_shapes":null,"output_shape":[2,3],` +
				`"duration_us":2,"output_elements":6,"memory_bytes":48,"kind":"compute","start_unix_ns":1000,` +
				`"duration_ns":2000,"span_id":"00f067aa0ba902b7","warn":["bad_id"]}` + "\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, "records", test.want, withoutIDs(transcript(t, []byte(test.text), nil)))
		})
	}
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

// Calls are ranges other than steps, and runtime calls outside operators, by the rank's clock.
func TestCalls(t *testing.T) {
	text := `{"baseTimeNanoseconds":1000000,"distributedInfo":{"rank":3},"traceEvents":[
		{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},
		{"ph":"X","cat":"user_annotation","name":"load","pid":1,"tid":1,"ts":1,"dur":9},
		{"ph":"X","cat":"gpu_user_annotation","name":"load","pid":0,"tid":7,"ts":1,"dur":9},
		{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":20,"dur":30},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":25,"dur":5,"args":{"correlation":5}},
		{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":1,"ts":60,"dur":10,"args":{"correlation":6}},
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":35,"dur":9,
		"args":{"device":0,"stream":7,"correlation":5}}]}`
	var got []string
	for rec, err := range kineto.Records(strings.NewReader(text), "trace", nil) {
		check.OK(t, err)
		if rec.Call != nil {
			got = append(got, fmt.Sprint(rec.Call.Operation, " of ", rec.Call.Rank.V, " at ", rec.Call.Start.V, " for ",
				rec.Call.Duration))
		}
	}
	check.Equal(t, "calls", []string{"load of 3 at 1001000 for 9000", "cudaFree of 3 at 1060000 for 10000"}, got)
}

// Frames of Python that take a millisecond or more are calls: the innermost ones that are not divided, on threads with
// operators.
func TestPythonFrames(t *testing.T) {
	frame := func(name string, tid, ts, dur int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"python_function","name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d},`, name, tid,
			1000*ts, 1000*dur)
	}
	text := "[" + frame("main.py(1): <module>", 1, 0, 100) + frame("data.py(7): load", 1, 0, 60) +
		frame("read.py(1): read", 1, 1, 29) +
		frame("<built-in method decode of Decoder object at 0x7f7a983944b0>", 1, 31, 28) +
		frame("model.py(9): forward", 1, 60, 40) + frame("layer.py(2): forward", 1, 61, 10) +
		frame("threading.py(359): wait", 2, 0, 100) + strings.Replace(frame("short", 1, 72, 1), "1000}", "999}", 1) +
		`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":62000,"dur":9}]`
	var got []string
	for rec, err := range kineto.Records(strings.NewReader(text), "trace", nil) {
		check.OK(t, err)
		if c := rec.Call; c != nil {
			got = append(got, fmt.Sprint(c.Operation, " at ", c.Start.V/1e6, " for ", c.Duration/1e6, " ", c.Attrs))
		}
	}
	check.Equal(t, "calls", []string{"read.py(1): read at 1 for 29 [{thread.id 1 1}]",
		"<built-in method decode of Decoder object> at 31 for 28 [{thread.id 1 1}]",
		"model.py(9): forward at 60 for 40 [{thread.id 1 1}]"}, got)
}

// Calls have their threads. Waits within operators are calls as well, with what they wait for.
func TestWaits(t *testing.T) {
	event := func(cat, name string, tid, ts int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%d,"dur":5,"args":{%s}},`, cat, name, tid,
			ts, args)
	}
	operators := event("cpu_op", "aten::item", 1, 0, "") +
		strings.Replace(event("cpu_op", "aten::to", 2, 9, ""), `"dur":5`, `"dur":99`, 1)
	for _, test := range []struct{ name, events, want string }{
		{"outside", event("cuda_runtime", "cudaFree", 1, 7, `"correlation":1`),
			"cudaFree in 0 stream unknown [{thread.id 1 1}]"},
		{"no wait inside", event("cuda_runtime", "cudaMemcpyAsync", 1, 3, `"correlation":1`), ""},
		{"wait inside", event("cuda_runtime", "cudaMemcpy", 2, 10, `"correlation":1`),
			"cudaMemcpy in 2 stream unknown [{thread.id 2 1}]"},
		{
			"a stream", event("cuda_runtime", "cudaStreamSynchronize", 1, 3, `"correlation":1`) +
				event("cuda_sync", "Stream Sync", 7, 4, `"stream":7,"correlation":1,"device":3`),
			"cudaStreamSynchronize in 1 cuda:3 stream 7 [{thread.id 1 1}]",
		},
		{
			"a device", event("cuda_runtime", "cudaDeviceSynchronize", 1, 3, `"correlation":1`) +
				event("cuda_sync", "Context Sync", -1, 4, `"stream":4294967295,"correlation":1,"device":0`),
			"cudaDeviceSynchronize in 1 cuda:0 stream unknown [{thread.id 1 1}]",
		},
		{
			"a stream for an event", event("cuda_runtime", "cudaEventRecord", 2, 12, `"correlation":8`) +
				event("cuda_runtime", "cudaStreamWaitEvent", 2, 20, `"correlation":9`) +
				event("cuda_sync", "Stream Wait Event", 20, 21,
					`"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":8,"stream":20,"correlation":9,"device":0`),
			"cudaStreamWaitEvent in 2 cuda:0 stream 20 " +
				"[{thread.id 2 1} {tensor.wait.stream 7 1} {tensor.wait.recorded 12000 1}]",
		},
		{
			"the host for an event", event("cuda_runtime", "cudaEventSynchronize", 2, 20, `"correlation":9`) +
				event("cuda_sync", "Event Sync", -1, 21,
					`"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":8,"stream":-1,"correlation":9,"device":0`),
			"cudaEventSynchronize in 2 cuda:0 stream 7 [{thread.id 2 1}]",
		},
	} {
		got := ""
		for rec, err := range kineto.Records(strings.NewReader("["+operators+test.events+"{}]"), "trace", nil) {
			if c := rec.Call; err == nil && c != nil {
				got += fmt.Sprint(c.Operation, " in ", c.ParentSpanID[7], " ", c.DeviceID, " stream ", c.Stream,
					" ", c.Attrs)
			}
		}
		check.Equal(t, test.name, test.want, strings.ReplaceAll(got, "  ", " "))
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

// In a file that the traces of ranks were merged into, ids and devices are those of a rank.
func TestMergedRanks(t *testing.T) {
	event := func(rank int, cat, name, pid string, ts int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":"[TP%02d] %s","tid":7,"ts":%d,"dur":5,"args":{%s}}`, cat, name, rank, pid, ts, args)
	}
	of := func(rank int, operator string) []string {
		const ids = `"correlation":1,"External id":1`
		return []string{
			event(rank, "cpu_op", operator, "83", 10, `"External id":1`), event(rank, "cuda_runtime", "cudaLaunchKernel", "83", 11, ids),
			event(rank, "kernel", "gemm", "0", 30, ids+`,"device":0,"stream":7`),
			event(rank, "gpu_memset", "Memset", "0", 40, `"External id":1,"device":0,"stream":7`), // its call is not recorded
		}
	}
	text := "[" + strings.Join(slices.Concat(of(3, "aten::mm"), of(4, "aten::bmm")), ",") + "]"
	var got []string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Rank.V, " ", e.DeviceID, " ", e.Operation, " ", e.LaunchedBy))
	}
	slices.Sort(got)
	check.Equal(t, "operations", []string{
		"3 cpu aten::mm ", "3 cuda:0 Memset aten::mm", "3 cuda:0 gemm aten::mm",
		"4 cpu aten::bmm ", "4 cuda:0 Memset aten::bmm", "4 cuda:0 gemm aten::bmm",
	}, got)
	entries, _ = recordtest.Split(t, kineto.Records(strings.NewReader(strings.ReplaceAll(text, "[TP", "[a b")),
		"trace", nil))
	check.Equal(t, "rank by another prefix", op.Int{}, entries[0].Rank)
}

// The annotations and modules around a launch are the path of what it launched, on its thread alone.
func TestPaths(t *testing.T) {
	event := func(cat, name string, tid, ts, dur int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`, cat, name,
			tid, ts, dur, args)
	}
	text := "[" + strings.Join([]string{
		event("user_annotation", "## forward ##", 1, 0, 50, ""),
		event("python_function", "nn.Module: Net_0", 1, 5, 40, ""),
		event("python_function", "nn.Module: Linear_1", 1, 10, 10, ""),
		event("python_function", "train.py(3): step", 1, 11, 5, ""),
		event("user_annotation", "ProfilerStep#4", 1, 0, 100, ""),
		event("gpu_user_annotation", "## forward ##", 7, 0, 100, ""),
		event("cpu_op", "aten::mm", 1, 12, 6, ""),
		event("cuda_runtime", "cudaLaunchKernel", 1, 13, 1, `"correlation":1`),
		event("cuda_runtime", "cudaGraphLaunch", 1, 30, 1, `"correlation":2`),
		event("cuda_runtime", "cudaLaunchKernel", 2, 13, 1, `"correlation":3`),
		event("kernel", "a", 7, 60, 5, `"device":0,"stream":7,"correlation":1,"block":[32,1,1],"grid":[2,1,1],`+
			`"registers per thread":16,"graph id":0,"graph node id":0`),
		event("kernel", "b", 7, 65, 5, `"device":0,"stream":7,"correlation":2,"graph node id":99,"graph id":3`),
		event("kernel", "c", 7, 70, 5, `"device":0,"stream":7,"correlation":3`),
	}, ",") + "]"
	got := make(map[string]string)
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		got[e.Operation] = fmt.Sprint(e.Step, " ", e.Path, " by ", e.LaunchedBy, " ", e.Attrs)
	}
	want := map[string]string{
		"aten::mm": "4 ## forward ##/nn.Module: Net_0/nn.Module: Linear_1 by  [{thread.id 1 1}]",
		"a": "4 ## forward ##/nn.Module: Net_0/nn.Module: Linear_1 by aten::mm " +
			"[{grid [2,1,1] 5} {block [32,1,1] 5} {registers per thread 16 1} {tensor.launch.duration 1000 1} " +
			"{tensor.launch.call cudaLaunchKernel 0} {thread.id 1 1}]",
		"b": "4 ## forward ##/nn.Module: Net_0 by nn.Module: Net_0 [{graph id 3 1} {graph node id 99 1} {" +
			"tensor.launch.duration 1000 1} {tensor.launch.call cudaGraphLaunch 0} {thread.id 1 1}]",
		"c": "4  by  [{tensor.launch.duration 1000 1} {tensor.launch.call cudaLaunchKernel 0} {thread.id 2 1}]",
	}
	check.Equal(t, "", want, got)
}

// An EventList of torch.autograd.profiler tells operators and kernels by process, and devices by thread.
func TestEventList(t *testing.T) {
	text := `[{"name":"aten::mul","ph":"X","ts":633,"dur":54,"tid":1,"pid":"CPU functions","args":{}},
		{"name":"aten::mul","ph":"s","ts":633,"tid":1,"pid":"CPU functions","id":0,"cat":"cpu_to_cuda","args":{}},
		{"name":"mul_kernel","ph":"f","ts":640.5,"tid":2,"pid":"CUDA functions","id":0,"cat":"cpu_to_cuda","args":{}},
		{"name":"mul_kernel","ph":"X","ts":640.5,"dur":12.25,"tid":2,"pid":"CUDA functions","args":{}},
		{"name":"Memcpy HtoD","ph":"X","ts":660,"dur":1,"tid":0,"pid":"CUDA functions","args":{}}]`
	var got []string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Operation, " ", e.Kind, " ", e.DeviceID, " ", e.Duration))
	}
	want := []string{"aten::mul compute cpu 54000", "mul_kernel compute cuda:2 12250", "Memcpy HtoD memory cuda:0 1000"}
	check.Equal(t, "", want, got)
}

// Events of unlisted devices are operations, runtime calls launch them, and other events are counted by category.
func TestOtherDevices(t *testing.T) {
	text := `[{"ph":"X","cat":"cpu_op","name":"aten::add","pid":9,"tid":1,"ts":0,"dur":9},
		{"ph":"X","cat":"mtia_runtime","name":"runFunction","pid":9,"tid":1,"ts":1,"dur":2,"args":{"correlation":4}},
		{"ph":"X","cat":"mtia_ccp_events","name":"add","pid":0,"tid":2,"ts":5,"dur":7,"args":{"correlation":4,"stream":2}},
		{"ph":"X","cat":"mtia_ccp_events","name":"event_wait","pid":0,"tid":2,"ts":13,"dur":9,"args":{"stream":2}},
		{"ph":"X","cat":"mtia_ccp_events","name":"bare","pid":9,"tid":2,"ts":15,"dur":1},
		{"ph":"X","cat":"hpu_op","name":"gemm","pid":3,"tid":2,"ts":20,"dur":2},
		{"ph":"X","cat":"xpu_memcpy","name":"copy","pid":3,"tid":2,"ts":23,"dur":2,"args":{"device":1,"bytes":64}},
		{"ph":"X","cat":"strange","name":"x","pid":3,"tid":2,"ts":26,"dur":1,"args":{"device":1,"stream":0}},
		{"ph":"X","cat":"mtia_insight","name":"note","pid":0,"tid":2,"ts":30,"dur":1},
		{"ph":"X","cat":"mtia_insight","name":"note","pid":0,"tid":2,"ts":32,"dur":1}]`
	var got []string
	for rec, err := range kineto.Records(strings.NewReader(text), "trace", nil) {
		check.OK(t, err)
		if e := rec.Entry; e != nil {
			got = append(got, fmt.Sprint(e.Operation, " ", e.Kind, " ", e.DeviceID, " ", e.Stream, " by ",
				e.LaunchedBy))
		} else {
			got = append(got, fmt.Sprint(rec.Skipped.Reason, " ", rec.Skipped.N))
		}
	}
	want := []string{
		"category:mtia_insight 2", "runtime_call 2", "aten::add compute cpu unknown by ",
		"add compute mtia:0 2 by aten::add",
		"bare compute mtia unknown by ", "gemm compute hpu:3 unknown by ", "copy memory xpu:1 unknown by ",
		"x compute strange:1 0 by ",
	}
	check.Equal(t, "", want, got)
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

// Launches and steps without an operation are gaps; launches during a capture count apart.
func TestGapsCountLostLaunches(t *testing.T) {
	event := func(cat, name string, at int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":1,"ts":%d,"dur":9,"args":{%s}},`,
			cat, name, at, args)
	}
	text := `{"traceEvents":[` + event("user_annotation", "ProfilerStep#1", 10, "") +
		event("cuda_runtime", "cudaLaunchKernel", 10, `"correlation":1`) +
		event("kernel", "gemm", 12, `"correlation":1,"device":0,"stream":7`) +
		event("user_annotation", "ProfilerStep#2", 20, "") +
		event("cuda_runtime", "cudaLaunchKernel", 20, `"correlation":2`) +
		event("cuda_runtime", "cudaGraphLaunch", 21, `"correlation":3`) +
		event("cuda_runtime", "cudaStreamBeginCapture", 30, `"correlation":4`) +
		event("cuda_runtime", "cuLaunchKernel", 40, `"correlation":5`) +
		event("cuda_runtime", "cudaStreamEndCapture", 50, `"correlation":6`) +
		event("cuda_runtime", "cudaLaunchKernel", 60, `"correlation":1`) + "{}]}"
	got := make(map[string]int64)
	for rec := range kineto.Records(strings.NewReader(text), "x", nil) {
		if rec.Gap != nil {
			got[rec.Gap.Reason] += rec.Gap.Dropped
		}
	}
	check.Equal(t, "", map[string]int64{"launch_without_operation": 1, "graph_launch_without_operation": 1,
		"captured_launch": 1, "step_without_operation": 1}, got)
}
