//go:build chdb

package clickhouse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// tracesTable creates the columns of the exporter's table.
const tracesTable = `CREATE TABLE otel_traces (Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String,
TraceState String, SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String), StatusMessage String,
Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String)))
ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))`

// testView compares the report through the view with that of package analyze on the same spans.
func testView(t *testing.T, db clickhouse.DB) {
	file := spansFile(t, 1500)
	for _, statement := range []string{tracesTable, exporterRows(t, file), clickhouse.ViewStatement("optrace_spans", "otel_traces")} {
		check.OK(t, db.Exec(t.Context(), statement))
	}
	for _, opts := range []analyze.Options{
		{Top: 25, HotspotBytes: -1}, {By: keys(t, "shape,rank,kind,device,stream,attr:host.name")},
	} {
		r := check.Must(clickhouse.Source{DB: db, View: "optrace_spans"}.Report(t.Context(), opts))(t)
		opts.RecordedFLOPs = true
		var want analyze.Report
		check.OK(t, json.Unmarshal([]byte(wantReport(t, opts, file)), &want))
		want.Input.Files, want.Input.Bytes, want.Input.Formats = 0, 0, []string{} // there are no files
		check.Equal(t, "", reportText(t, &want), reportText(t, r))
	}
}

// spansFile writes random operations as spans, in the order of their starts, and the requests above
// some of them. No two take as long.
func spansFile(t *testing.T, n int) string {
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	f := check.Must(os.Create(path))(t)
	w := otlp.NewWriter(f)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		e := randomEntry(r, i, false)
		e.Attrs, e.EmptyDevice = nil, false
		e.Start = op.Known(1_700_000_000_000_000_000 + int64(i)*1000)
		e.Duration = int64(1000 + (i*7919)%100_003)
		e.Warn &^= op.WarnNegativeDuration
		if e.SpanID.IsZero() || opfile.IsLocal(e.TraceID) {
			e.SpanID, e.TraceID = op.SpanID{1, byte(i >> 8), byte(i)}, op.TraceID{byte(r.IntN(50)), 1}
		}
		if i%50 == 0 {
			s := &op.Span{
				Name: "request", TraceID: e.TraceID, SpanID: op.SpanID{9, byte(i >> 8), byte(i)}, Start: e.Start, Duration: 5, Service: e.Service,
			}
			check.OK(t, w.Span(s))
		}
		check.OK(t, w.Entry(e))
	}
	check.OK(t, w.Flush())
	check.OK(t, f.Close())
	return path
}

// exporterRows returns the statement that inserts the spans of a file of OTLP JSON as the exporter
// does.
func exporterRows(t *testing.T, path string) string {
	f := check.Must(os.Open(path))(t)
	defer f.Close()
	var out bytes.Buffer
	out.WriteString("INSERT INTO otel_traces SETTINGS date_time_input_format = 'best_effort' FORMAT JSONEachRow\n")
	enc := json.NewEncoder(&out)
	for dec := json.NewDecoder(f); ; {
		var traces otlpTraces
		if err := dec.Decode(&traces); errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		}
		for _, rs := range traces.ResourceSpans {
			resource := mapOf(rs.Resource.Attributes)
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					check.OK(t, enc.Encode(s.row(resource, ss.Scope.Name)))
				}
			}
		}
	}
}

type otlpTraces struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []otlpAttr }
		ScopeSpans []struct {
			Scope struct{ Name string }
			Spans []otlpSpan
		}
	}
}

type otlpSpan struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []otlpAttr
	Status                                          struct {
		Code    int
		Message string
	}
	Links []struct {
		TraceID, SpanID, TraceState string
		Attributes                  []otlpAttr
	}
}

func (s *otlpSpan) row(resource map[string]string, scope string) map[string]any {
	start, _ := strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
	end, _ := strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
	var traces, spans, states []string
	var attributes []map[string]string
	for _, l := range s.Links {
		traces, spans, states = append(traces, l.TraceID), append(spans, l.SpanID), append(states, l.TraceState)
		attributes = append(attributes, mapOf(l.Attributes))
	}
	return map[string]any{
		"Timestamp": time.Unix(0, start).UTC().Format(time.RFC3339Nano), "TraceId": s.TraceID, "SpanId": s.SpanID,
		"ParentSpanId": s.ParentSpanID, "TraceState": s.TraceState, "SpanName": s.Name, "ServiceName": resource["service.name"],
		"ResourceAttributes": resource, "ScopeName": scope, "SpanAttributes": mapOf(s.Attributes), "Duration": uint64(end - start),
		"StatusCode": []string{"Unset", "Ok", "Error"}[s.Status.Code], "StatusMessage": s.Status.Message,
		"Links.TraceId": orNone(traces), "Links.SpanId": orNone(spans), "Links.TraceState": orNone(states),
		"Links.Attributes": orNone(attributes),
	}
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

type otlpAttr struct {
	Key   string
	Value otlpValue
}

type otlpValue struct {
	StringValue *string
	IntValue    *string
	DoubleValue *float64
	BoolValue   *bool
	ArrayValue  *struct{ Values []otlpValue }
}

func (v otlpValue) raw() any {
	switch {
	case v.StringValue != nil:
		return *v.StringValue
	case v.IntValue != nil:
		return json.Number(*v.IntValue)
	case v.DoubleValue != nil:
		return *v.DoubleValue
	case v.BoolValue != nil:
		return *v.BoolValue
	case v.ArrayValue != nil:
		list := []any{}
		for _, e := range v.ArrayValue.Values {
			list = append(list, e.raw())
		}
		return list
	}
	return nil
}

// mapOf returns attributes as texts, as the exporter makes them: lists are JSON.
func mapOf(attrs []otlpAttr) map[string]string {
	m := make(map[string]string)
	for _, a := range attrs {
		switch v := a.Value.raw().(type) {
		case []any:
			text, _ := json.Marshal(v) // of texts and numbers
			m[a.Key] = string(text)
		case nil:
			m[a.Key] = ""
		default:
			m[a.Key] = fmt.Sprint(v)
		}
	}
	return m
}
