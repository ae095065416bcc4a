package dynamo_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/internal/dynamo"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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
	m := &attr.Mapping{}
	m.Keep("ttft_ms")
	golden.Cases(t, "testdata/cases.txt", func(text string) string {
		return recordtest.Transcript(t, dynamo.Records(strings.NewReader(text), "trace", m))
	})
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
