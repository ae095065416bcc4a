package jaeger

import (
	"bytes"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// api is a version of Jaeger's HTTP API: its paths, and how to read the
// answers.
type api interface {
	name() string
	// trace and search return the path and the query of a call.
	trace(id op.TraceID) (path string, query url.Values)
	search(q *Query, w window, limit int) (path string, query url.Values)
	// records reads the spans of an answer in so much memory. It may change its white space.
	records(body []byte, name string, m *attr.Mapping, memory int64) iter.Seq2[op.Record, error]
}

// apiV3 answers in OTLP.
type apiV3 struct{}

func (apiV3) name() string { return "v3" }

func (apiV3) trace(id op.TraceID) (string, url.Values) {
	// Adjusted spans differ from the spans sent: Jaeger moves them and adds to them.
	return "/api/v3/traces/" + id.String(), url.Values{"raw_traces": {"true"}}
}

func (apiV3) search(q *Query, w window, limit int) (string, url.Values) {
	return "/api/v3/traces", values(
		"query.service_name", q.Service, "query.operation_name", q.Operation, "query.duration_min", minDuration(q),
		"query.start_time_min", w.from.UTC().Format(time.RFC3339Nano), "query.start_time_max", w.to.UTC().Format(time.RFC3339Nano),
		"query.num_traces", strconv.Itoa(limit), "query.raw_traces", "true")
}

func (apiV3) records(body []byte, name string, m *attr.Mapping, _ int64) iter.Seq2[op.Record, error] {
	// An answer is one document. Lines in it would look like documents of their
	// own, and between the tokens any white space is as good as another.
	for i := range body {
		if body[i] == '\n' {
			body[i] = ' '
		}
	}
	return otlp.JSONRecords(bytes.NewReader(body), name, m)
}

// apiV1 answers in Jaeger's own JSON, see [Records].
type apiV1 struct{}

func (apiV1) name() string { return "v1" }

func (apiV1) trace(id op.TraceID) (string, url.Values) {
	return "/api/traces/" + id.String(), url.Values{"raw": {"true"}}
}

func (apiV1) search(q *Query, w window, limit int) (string, url.Values) {
	return "/api/traces", values(
		"service", q.Service, "operation", q.Operation, "minDuration", minDuration(q),
		"start", strconv.FormatInt(w.from.UnixMicro(), 10), "end", strconv.FormatInt(w.to.UnixMicro(), 10),
		"limit", strconv.Itoa(limit), "raw", "true")
}

func (apiV1) records(body []byte, name string, m *attr.Mapping, memory int64) iter.Seq2[op.Record, error] {
	return RecordsHolding(bytes.NewReader(body), name, m, upTo(memory))
}

// values returns parameters of a query, each a name and a value, without those that are empty.
func values(parameters ...string) url.Values {
	v := url.Values{}
	for p := range slices.Chunk(parameters, 2) {
		if p[1] != "" {
			v.Set(p[0], p[1])
		}
	}
	return v
}

func minDuration(q *Query) string {
	if q.MinDuration <= 0 {
		return ""
	}
	return q.MinDuration.String()
}
