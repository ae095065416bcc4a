package clickhouse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wantReport returns the report of files by package analyze, as JSON, with sums.
func wantReport(t *testing.T, opts analyze.Options, files ...string) string {
	t.Helper()
	opts.SumsOnly = true
	r := check.Must(analyze.Run(t.Context(), ingest.Open(files...), opts))(t)
	r.LeftOut = "ClickHouse computes sums, and not what needs the structure of the run"
	return reportText(t, r)
}

func reportText(t *testing.T, r *analyze.Report) string {
	t.Helper()
	text := check.Must(json.MarshalIndent(r, "", " "))(t)
	return string(text)
}

func keys(t *testing.T, list string) []key.Key {
	t.Helper()
	return check.Must(key.Parse(list))(t)
}

func load(t *testing.T, db clickhouse.DB, opts clickhouse.LoadOptions, files ...string) {
	t.Helper()
	for _, f := range files {
		check.Must(clickhouse.Load(t.Context(), db, f, opts))(t)
	}
}

// testSuite compares an engine with package analyze, each part on new tables. It returns the files in the last ones.
func testSuite(t *testing.T, db clickhouse.DB, newTables func(t *testing.T)) (files []string) {
	part := func(name string, test func(t *testing.T), loaded ...string) {
		t.Run(name, func(t *testing.T) {
			newTables(t)
			files = loaded
			load(t, db, clickhouse.LoadOptions{BatchRows: 1000}, files...)
			test(t)
		})
	}
	reports := func(t *testing.T) { testReports(t, db, files) }
	part("nothing", func(t *testing.T) {
		r, err := clickhouse.Source{DB: db}.Report(t.Context(), analyze.Options{})
		if err != nil || r.Total.Count != 0 || len(r.Operations) != 0 {
			t.Errorf("%v, %v", r, err)
		}
	})
	part("weights", reports, randomFile(t, 3, 500, true))
	part("reports", reports, randomFile(t, 1, 3000, false), randomFile(t, 2, 300, false))
	return files
}

// testReport compares a report of the engine with the report of package analyze on the same files.
func testReport(t *testing.T, db clickhouse.DB, opts analyze.Options, files []string) {
	t.Helper()
	r := check.Must(clickhouse.Source{DB: db}.Report(t.Context(), opts))(t)
	check.Equal(t, "", wantReport(t, opts, files...), reportText(t, r))
}

// testReports compares several reports like testReport.
func testReports(t *testing.T, db clickhouse.DB, files []string) {
	for _, test := range []struct {
		name string
		opts analyze.Options
	}{
		{"defaults", analyze.Options{}},
		{"by shape and rank", analyze.Options{By: keys(t, "shape,rank"), Top: 3}},
		{"by the rest", analyze.Options{By: keys(t, "kind,device,stream,step,service,path,error,attr:layer"),
			HotspotBytes: -1, Top: 25}},
		{"by trace", analyze.Options{By: keys(t, "operation,trace"), RecordedFLOPs: true, Top: -1}},
	} {
		t.Run(test.name, func(t *testing.T) { testReport(t, db, test.opts, files) })
	}
	t.Run("profile", func(t *testing.T) { testProfile(t, clickhouse.Source{DB: db}, files) })
}

// testProfile compares the profile as a file of partial results, even with full tables.
func testProfile(t *testing.T, src clickhouse.Source, files []string) {
	for _, opts := range []analyze.Options{{By: keys(t, "rank,stream")}, {By: keys(t, "shape"), MaxGroups: 7}} {
		opts.SumsOnly = true
		text := check.Must(src.Profile(t.Context(), opts))(t)
		path := writeFile(t, "sums.jsonl", text)
		got := check.Must(analyze.Run(t.Context(), ingest.Open(path), opts))(t)
		want := check.Must(analyze.Run(t.Context(), ingest.Open(files...), opts))(t)
		check.Equal(t, fmt.Sprintf("up to %d rows", opts.MaxGroups), reportText(t, want), reportText(t, got))
	}
}

// randomEntry returns an entry with few names, devices and ranks, many equal durations, and some missing
// fields. With weighted it has a sampling weight.
func randomEntry(r *rand.Rand, i int, weighted bool) *op.Entry {
	names := []string{"matmul", "relu", "AllReduce", "ncclDevKernel_AllReduce", "Memcpy HtoD (Host -> Device)",
		"memset", "recommendation_mlp", "broadcast_in_dim", "c10d::broadcast_", "small_reduce", "AllToAllV",
		"O'Brien \\ \"x\"\n"}
	e := &op.Entry{
		Operation: names[r.IntN(len(names))],
		Duration:  int64(r.IntN(20)) * 100,
		SpanID:    op.SpanID{byte(i >> 16), byte(i >> 8), byte(i), 1},
		TraceID:   op.TraceID{byte(r.IntN(50)), 1},
		Service:   []string{"", "trainer", "server"}[r.IntN(3)],
		Step:      op.Known(int64(i / 50)),
		Root:      []string{"", "GET /a"}[r.IntN(2)],
		Path:      []string{"", "encoder.0"}[r.IntN(2)],
		Attrs:     []op.Attr{{Key: "layer", Value: strconv.Itoa(r.IntN(4))}},
	}
	e.Kind, e.KindRule = op.InferKind(e.Operation)
	rarely := func(n int, f func()) {
		if r.IntN(n) == 0 {
			f()
		}
	}
	rarely(10, func() { e.Kind, e.KindRule = op.KindControl, op.RuleAttribute })
	rarely(10, func() {
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
		e.Collective = &op.Collective{Name: "all_reduce", Group: "dp", GroupSize: op.Known(8),
			Sequence: op.Known(int64(i))}
	})
	rarely(4, func() { e.Duration = r.Int64N(1 << uint(1+r.IntN(45))) })
	rarely(300, func() { e.Duration = r.Int64N(1 << 61) })
	rarely(60, func() { e.Operation = fmt.Sprint("rare ", r.IntN(20)) })
	if r.IntN(8) > 0 {
		e.DeviceID = fmt.Sprintf("cuda:%d", r.IntN(3))
	} else {
		rarely(4, func() { e.DeviceID = "unknown" })
		e.EmptyDevice = e.DeviceID == "" && r.IntN(3) == 0
	}
	rarely(3, func() { e.Rank = op.Known(int64(r.IntN(2))) })
	if r.IntN(6) > 0 {
		e.Start = op.Known(1_700_000_000_000_000_000 + int64(r.IntN(1_000_000)))
	}
	rarely(5, func() { e.Side = op.SideHost })
	if r.IntN(3) > 0 {
		e.OutputShape = op.Shape{int64(r.IntN(3)), 4}
		e.OutputElements, _ = e.OutputShape.Elements()
		e.MemoryBytes = op.Known(e.OutputElements.V * 8)
		e.DType = op.F32
	}
	rarely(9, func() { e.OutputShape, e.DType = op.Shape{}, op.BF16 })
	rarely(50, func() { e.MemoryBytes = op.Known(r.Int64N(1 << 62)) })
	rarely(30, func() { e.MemoryBytes = op.Known(2 << 20) })
	rarely(4, func() {
		e.InputShapes = []op.Shape{{2, int64(r.IntN(2))}, nil, {}}
		e.InputDTypes = []op.DType{op.F16, op.F32}
	})
	rarely(30, func() { e.Duration, e.Warn = 0, op.WarnNegativeDuration|op.WarnBadShape })
	rarely(20, func() { e.Failed, e.Error = true, "out of memory" })
	rarely(15, func() { e.SpanID, e.TraceID = op.SpanID{}, op.TraceID{} })
	rarely(25, func() { e.TraceID = opfile.LocalTraceID(uint64(r.IntN(3))) })
	rarely(3, func() { e.FLOPs = op.Known(int64(r.IntN(1000))) })
	rarely(5, func() { e.Stream = op.Known(r.Int64N(2)) })
	rarely(20, func() {
		e.Links = []op.Link{{TraceID: op.TraceID{7}, SpanID: op.SpanID{1}, Weight: op.Known(3),
			Attention: op.Known(40)}}
	})
	if len(e.OutputShape) == 2 && r.IntN(2) == 0 { // of a matmul
		k := int64(r.IntN(3))
		e.InputShapes = []op.Shape{{e.OutputShape[0], k}, {k, 4}}
		e.InputDTypes = nil
	}
	if weighted || r.IntN(500) == 0 {
		e.AdjustedCount = 1 / (1 - r.Float64())
	}
	return e
}

func writeFile(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, text, 0o600))
	return path
}

// randomFile writes n random records, some of them damaged, and returns the path.
func randomFile(t testing.TB, seed uint64, n int, weighted bool) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var text []byte
	for i := range n {
		e := randomEntry(r, i, weighted)
		text = append(e.AppendJSON(text), '\n')
		switch r.IntN(40) {
		case 0:
			text = append(text, "{\"operation\":\n"...)
		case 1:
			text = append((&op.Gap{Dropped: r.Int64N(5), Reason: fmt.Sprint("reason ", r.IntN(80))}).AppendJSON(text),
				'\n')
		case 2:
			b := op.Batch{Writer: fmt.Sprint("w", r.IntN(3)), Sequence: r.Int64N(50), Entries: r.Int64N(80)}
			text = append(b.AppendJSON(text), '\n')
		case 3:
			text = append((&op.Span{Name: "request", TraceID: e.TraceID, SpanID: op.SpanID{1, byte(i)},
				Duration: 5}).AppendJSON(text), '\n')
		case 4:
			text = append(text, "{\"later\":1}\n"...)
		case 5: // repeats the record
			text = append(e.AppendJSON(text), '\n')
		case 6:
			text = append(op.AppendHeader(text, &op.Resource{
				Service: "trainer", Attrs: []op.Attr{{Key: "host.name", Value: fmt.Sprint("node-", r.IntN(3))}},
			}), '\n')
		}
	}
	return writeFile(t, fmt.Sprintf("ops-%d.jsonl", seed), text)
}

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
						"TraceId":   s.TraceID().String(), "SpanId": s.SpanID().String(),
						"ParentSpanId": s.ParentSpanID().String(), "TraceState": s.TraceState().AsRaw(),
						"SpanName": s.Name(), "ServiceName": resource["service.name"],
						"ResourceAttributes": resource, "ScopeName": ss.Scope().Name(),
						"SpanAttributes": textsOf(s.Attributes()),
						"Duration":       uint64(s.EndTimestamp() - s.StartTimestamp()),
						"StatusCode":     s.Status().Code().String(), "StatusMessage": s.Status().Message(),
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
