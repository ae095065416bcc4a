package jaeger

import (
	"bytes"
	"iter"
	"net/url"
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
	v := url.Values{
		"query.service_name":   {q.Service},
		"query.start_time_min": {w.from.UTC().Format(time.RFC3339Nano)},
		"query.start_time_max": {w.to.UTC().Format(time.RFC3339Nano)},
		"query.num_traces":     {strconv.Itoa(limit)},
		"query.raw_traces":     {"true"},
	}
	if q.Operation != "" {
		v.Set("query.operation_name", q.Operation)
	}
	if q.MinDuration > 0 {
		v.Set("query.duration_min", q.MinDuration.String())
	}
	return "/api/v3/traces", v
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
	v := url.Values{
		"service": {q.Service},
		"start":   {strconv.FormatInt(w.from.UnixMicro(), 10)},
		"end":     {strconv.FormatInt(w.to.UnixMicro(), 10)},
		"limit":   {strconv.Itoa(limit)},
		"raw":     {"true"},
	}
	if q.Operation != "" {
		v.Set("operation", q.Operation)
	}
	if q.MinDuration > 0 {
		v.Set("minDuration", q.MinDuration.String())
	}
	return "/api/traces", v
}

func (apiV1) records(body []byte, name string, m *attr.Mapping, memory int64) iter.Seq2[op.Record, error] {
	return RecordsHolding(bytes.NewReader(body), name, m, upTo(memory))
}
