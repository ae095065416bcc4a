package dynamo_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/internal/dynamo"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op/attr"
)

// passLine is a pass in the envelope of Dynamo's files, with its mode, number, prefill and decode requests.
func passLine(mode string, counter, prefill, decode int) string {
	return fmt.Sprintf(`{"timestamp":1250,"event":{"schema":"dynamo.fpm.trace.v1","source":{"namespace":"default",`+
		`"component":"backend"},"capture_mode":%q,"observed_at_unix_ms":1782777601250,"fpm":{"version":1,`+
		`"worker_id":"4192","dp_rank":0,"counter_id":%d,"wall_time":0.025,"scheduled_requests":{`+
		`"num_prefill_requests":%d,"sum_prefill_tokens":%d,"num_decode_requests":%d,"sum_decode_kv_tokens":1024},`+
		`"queued_requests":{"num_prefill_requests":1}}}}`, mode, counter, prefill, 128*prefill, decode)
}

func requestLine(members string) string {
	return `{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":1777312801000,` +
		`"request":{` + members + `}}`
}

func TestRecords(t *testing.T) {
	const behind = `"input_shapes":null,"output_shape":null,"duration_us":25000,"output_elements":null,` +
		`"memory_bytes":null,"kind":"compute","start_unix_ns":1782777601225000000,"duration_ns":25000000,"rank":0,` +
		`"service":"backend",`
	entry := func(step int, name, attrs, stepName, phase string) string {
		return fmt.Sprintf(`{"step":%d,"operation":%q,"device_id":"worker:4192",%s%s"step_name":%q,"phase":%q}`+"\n",
			step, name, behind, attrs, "forward pass: "+stepName, phase)
	}
	for _, test := range []struct{ name, text, want string }{
		{"prefill", passLine("full", 1, 2, 0), entry(1, "prefill pass", "",
			"2 prefill (256 tokens), 0 decode (0 tokens)", "prefill")},
		{"decode", passLine("full", 1, 0, 3), entry(1, "decode pass", "",
			"0 prefill (0 tokens), 3 decode (3 tokens)", "decode")},
		{"mixed", passLine("full", 1, 1, 3), entry(1, "mixed pass", "",
			"1 prefill (128 tokens), 3 decode (3 tokens)", "mixed")},
		{"no work", passLine("full", 1, 0, 0), "skipped metadata: 1\n"},
		{
			"passes that are lost", passLine("full", 1, 0, 0) + "\n\n" + passLine("full", 5, 0, 0),
			"skipped metadata: 1\nskipped metadata: 1\ngap counter_gap 3\n",
		},
		{
			"sampled passes", passLine("sampled", 1, 0, 0) + "\n" + passLine("sampled", 9, 0, 0),
			"skipped metadata: 1\nskipped metadata: 1\ngap sampled 7\n",
		},
		{
			"a record alone, without times", `{"schema":"dynamo.fpm.trace.v1","worker_id":"w","dp_rank":1,` +
				`"counter_id":0,"wall_time":0.001,"scheduled_requests":{"num_decode_requests":1}}`,
			`{"step":0,"operation":"decode pass","device_id":"worker:w","input_shapes":null,"output_shape":null,` +
				`"duration_us":1000,"output_elements":null,"memory_bytes":null,"kind":"compute",` +
				`"duration_ns":1000000,"rank":1,"warn":["no_start"],` +
				`"step_name":"forward pass: 0 prefill (0 tokens), 1 decode (1 tokens)","phase":"decode"}` + "\n",
		},
		{
			"a request", requestLine(`"request_id":"5b8efff7-9803-8103-d269-b633813fc60c",` +
				`"request_received_ms":1777312800000,"total_time_ms":999.5,"ttft_ms":31.25,` +
				`"model":"m","replay":{"input_length":128}`),
			`{"span":{"name":"http-request","trace_id":"5b8efff798038103d269b633813fc60c",` +
				`"span_id":"0000000000000001","start_unix_ns":1777312800000000000,"duration_ns":999500000,` +
				`"attrs":{"ttft_ms":31.25}}}` + "\n",
		},
		{
			"a request without a total", requestLine(`"request_id":"r","request_received_ms":1777312800000`),
			`{"span":{"name":"http-request","trace_id":"d228cb69821a8caf78912b704e4aa0c5",` +
				`"span_id":"0000000000000001","start_unix_ns":1777312800000000000,"duration_ns":1000000000}}` + "\n",
		},
		{"another event", strings.Replace(requestLine(""), "request_end", "tool_end", 1), "skipped non_op: 1\n"},
		{
			"bad lines", strings.Replace(passLine("full", 1, 1, 1), "0.025", "-1", 1) + "\n" +
				passLine("full", 1, -1, 1) + "\n" + requestLine("") + "\n[]\n" +
				`{"schema":"dynamo.fpm.trace.v1","worker_id":"w"`,
			"error: trace:1: wall_time is no duration (at byte 0)\n" +
				"error: trace:2: a negative number of requests (at byte 424)\n" +
				"error: trace:3: request without an id (at byte 853)\n" +
				"error: trace:4: the record is of a wrong type (at byte 966)\n" +
				"error: trace:5: unexpected end of JSON input (at byte 1014)\n",
		},
	} {
		m := &attr.Mapping{}
		m.Keep("ttft_ms")
		got := recordtest.Transcript(t, dynamo.Records(strings.NewReader(test.text), "trace", m))
		for rec := range dynamo.Records(strings.NewReader(test.text), "trace", m) {
			if rec.Gap != nil {
				got += fmt.Sprintln("gap", rec.Gap.Reason, rec.Gap.Dropped)
			}
		}
		check.Equal(t, test.name, test.want, got)
	}
}

// FuzzRecords checks that no input makes the reader panic, and that records are valid.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(passLine("full", 1, 1, 2) + "\n" + passLine("sampled", 1<<62, 1, 2)))
	f.Add([]byte(requestLine(`"request_id":"r","request_received_ms":9223372036854,"total_time_ms":1e9,` +
		`"tensor.op.name":"x"`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, dynamo.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

// Passes of a rank follow each other: the observed time is in whole milliseconds, and the duration is not.
func TestPassesFollowEachOther(t *testing.T) {
	var text string
	for i, ms := range []string{"1782777601250", "1782777601274", "1782777601290"} {
		line := strings.Replace(passLine("full", i, 1, 0), "1782777601250", ms, 1)
		text += strings.Replace(line, "0.025", "0.0245", 1) + "\n"
	}
	var starts []int64
	for rec, err := range dynamo.Records(strings.NewReader(text), "trace", nil) {
		check.OK(t, err)
		starts = append(starts, rec.Entry.Start.V/1e3-1782777601000_000)
	}
	check.Equal(t, "starts in µs, the last with a fault of the clock", []int64{225_500, 250_000, 265_500}, starts)
}
