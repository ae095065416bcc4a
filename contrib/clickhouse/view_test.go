package clickhouse_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/check"
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

// testView compares the report through the view with the report of package analyze on the same spans.
func testView(t *testing.T, db clickhouse.DB) {
	file := spansFile(t, 1500)
	for _, statement := range []string{tracesTable, exporterRows(t, file),
		clickhouse.ViewStatement("optrace_spans", "otel_traces")} {
		check.OK(t, db.Exec(t.Context(), statement))
	}
	for _, opts := range []analyze.Options{
		{Top: 25, HotspotBytes: -1}, {By: keys(t, "shape,rank,kind,device,stream,attr:host.name")},
	} {
		r := check.Must(clickhouse.Source{DB: db, View: "optrace_spans"}.Report(t.Context(), opts))(t)
		opts.RecordedFLOPs = true
		var want analyze.Report
		check.OK(t, json.Unmarshal([]byte(wantReport(t, opts, file)), &want))
		want.Input.Files = 0 // a view has no files
		want.Input.Bytes = 0
		want.Input.Formats = []string{}
		check.Equal(t, "", reportText(t, &want), reportText(t, r))
	}
}

// spansFile writes random operations as spans in the order of their starts, and requests above some of
// them. All durations differ.
func spansFile(t *testing.T, n int) string {
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	f := check.Must(os.Create(path))(t)
	w := otlp.NewWriter(f)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		e := randomEntry(r, i, false)
		e.Attrs = nil
		e.EmptyDevice = false
		e.Start = op.Known(1_700_000_000_000_000_000 + int64(i)*1000)
		e.Duration = int64(1000 + (i*7919)%100_003)
		e.Warn &^= op.WarnNegativeDuration
		if e.SpanID.IsZero() || opfile.IsLocal(e.TraceID) {
			e.SpanID = op.SpanID{1, byte(i >> 8), byte(i)}
			e.TraceID = op.TraceID{byte(r.IntN(50)), 1}
		}
		if i%50 == 0 {
			s := &op.Span{
				Name: "request", TraceID: e.TraceID, SpanID: op.SpanID{9, byte(i >> 8), byte(i)}, Start: e.Start,
				Duration: 5, Service: e.Service,
			}
			check.OK(t, w.Span(s))
		}
		check.OK(t, w.Entry(e))
	}
	check.OK(t, w.Flush())
	check.OK(t, f.Close())
	return path
}

// exporterRows returns the statement that inserts the spans of an OTLP JSON file like the exporter.
func exporterRows(t *testing.T, path string) string {
	var out bytes.Buffer
	out.WriteString("INSERT INTO otel_traces SETTINGS date_time_input_format = 'best_effort' FORMAT JSONEachRow\n")
	enc := json.NewEncoder(&out)
	for line := range bytes.Lines(check.Must(os.ReadFile(path))(t)) {
		traces := check.Must(new(ptrace.JSONUnmarshaler).UnmarshalTraces(line))(t)
		for _, rs := range traces.ResourceSpans().All() {
			resource := textsOf(rs.Resource().Attributes())
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					row := map[string]any{
						"Timestamp": s.StartTimestamp().AsTime().Format(time.RFC3339Nano),
						"TraceId":   s.TraceID().String(),
						"SpanId":    s.SpanID().String(), "ParentSpanId": s.ParentSpanID().String(),
						"TraceState": s.TraceState().AsRaw(),
						"SpanName":   s.Name(), "ServiceName": resource["service.name"], "ResourceAttributes": resource,
						"ScopeName": ss.Scope().Name(), "SpanAttributes": textsOf(s.Attributes()),
						"Duration":      uint64(s.EndTimestamp() - s.StartTimestamp()),
						"StatusCode":    s.Status().Code().String(),
						"StatusMessage": s.Status().Message(),
					}
					addLinks(row, s.Links())
					check.OK(t, enc.Encode(row))
				}
			}
		}
	}
	return out.String()
}

func addLinks(row map[string]any, links ptrace.SpanLinkSlice) {
	traces := []string{}
	spans := []string{}
	states := []string{}
	attributes := []map[string]string{}
	for _, l := range links.All() {
		traces = append(traces, l.TraceID().String())
		spans = append(spans, l.SpanID().String())
		states = append(states, l.TraceState().AsRaw())
		attributes = append(attributes, textsOf(l.Attributes()))
	}
	row["Links.TraceId"], row["Links.SpanId"], row["Links.TraceState"], row["Links.Attributes"] = traces, spans, states,
		attributes
}

// textsOf returns attributes as texts, like the exporter.
func textsOf(attrs pcommon.Map) map[string]string {
	texts := make(map[string]string)
	for key, v := range attrs.All() {
		texts[key] = v.AsString()
	}
	return texts
}

// The view has the columns of the table, in their order.
func TestViewHasColumnsOfTable(t *testing.T) {
	column := regexp.MustCompile(`(?m)^  (\w+) (\S+?),?$| AS (\S+)\) AS (\w+),?$`)
	var of [2][]string
	for i, statement := range []string{clickhouse.Schema{}.Statements()[0], clickhouse.ViewStatement("v", "t")} {
		for _, m := range column.FindAllStringSubmatch(statement, -1) {
			of[i] = append(of[i], m[1]+m[4]+" "+m[2]+m[3])
		}
	}
	check.Equal(t, "columns", of[0], of[1])
}
