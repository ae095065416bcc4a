package clickhouse_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wantReport returns the report of files by package analyze, as JSON, with sums and the timelines of devices.
func wantReport(t *testing.T, opts analyze.Options, files ...string) string {
	t.Helper()
	opts.SumsOnly = true
	r := check.Must(analyze.Run(t.Context(), ingest.Open(files...), opts))(t)
	opts.SumsOnly = false
	whole := check.Must(analyze.Run(t.Context(), ingest.Open(files...), opts))(t)
	r.LeftOut = "ClickHouse computes sums and the time lines of devices, and not what needs the structure of the run"
	lines := make(map[device.Key]profile.Device)
	for _, d := range whole.Devices {
		lines[d.Key()] = d
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		line := lines[d.Key()]
		line.Count = d.Count // includes repeats
		line.SumNS = d.SumNS
		line.MemoryBytes = d.MemoryBytes
		*d = line
	}
	if r.LoadBalance != nil {
		r.LoadBalance.BusyImbalanceRatio = whole.LoadBalance.BusyImbalanceRatio
	}
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
	part("traces", func(t *testing.T) { testTraces(t, db) })
	part("time lines", func(t *testing.T) { testTimelines(t, db, files) }, requestsFile(t, 1, 300))
	part("weights", reports, randomFile(t, 3, 500, true))
	part("reports", reports, randomFile(t, 1, 3000, false), randomFile(t, 2, 300, false))
	return files
}

// testTimelines checks timelines of devices with consecutive traces, and the limit of operations to sort.
func testTimelines(t *testing.T, db clickhouse.DB, files []string) {
	src := clickhouse.Source{DB: db, MaxSorted: 1}
	r := check.Must(src.Report(t.Context(), analyze.Options{}))(t)
	check.Equal(t, "", wantReport(t, analyze.Options{}, files...), reportText(t, r))
	load(t, db, clickhouse.LoadOptions{}, randomFile(t, 8, 3000, false)) // of overlapping traces
	r = check.Must(src.Report(t.Context(), analyze.Options{}))(t)
	if !slices.ContainsFunc(r.Devices, func(d profile.Device) bool { return !d.BusyNS.Known && d.Count > 100 }) ||
		r.LoadBalance.BusyImbalanceRatio.Known {
		t.Errorf("all devices have time lines: %+v", r.Devices)
	}
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

// testTraces compares the report on traces with the report of package analyze on their records.
func testTraces(t *testing.T, db clickhouse.DB) {
	file := requestsFile(t, 5, 60)
	load(t, db, clickhouse.LoadOptions{BatchRows: 100}, file)
	src := clickhouse.Source{DB: db}
	slowest := clickhouse.Traces{Slowest: 3}
	chosen := make(map[op.TraceID]bool)
	for rec, err := range src.Records(t.Context(), slowest) {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			chosen[rec.Entry.TraceID] = true
		case rec.Span != nil:
			chosen[rec.Span.TraceID] = true
		}
	}
	if len(chosen) != 3 {
		t.Fatalf("records of %d traces", len(chosen))
	}
	var ids []op.TraceID
	for id := range chosen {
		ids = append(ids, id)
	}
	for _, traces := range []clickhouse.Traces{slowest, {IDs: ids}} {
		r := check.Must(src.ReportOn(t.Context(), traces, analyze.Options{}))(t)
		want := check.Must(analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			for rec, err := range ingest.Open(file).Records() {
				if e, s := rec.Entry, rec.Span; e != nil && !chosen[e.TraceID] || s != nil && !chosen[s.TraceID] {
					continue
				}
				if !yield(rec, err) {
					return
				}
			}
		}), analyze.Options{}))(t)
		if len(want.CriticalPath) == 0 || want.SlowestRequest == nil {
			t.Errorf("no critical path: %+v", want)
		}
		check.Equal(t, "", reportText(t, want), reportText(t, r))
	}
	if r, err := src.ReportOn(t.Context(), clickhouse.Traces{IDs: ids, MaxRecords: 5}, analyze.Options{}); err == nil {
		t.Errorf("a report on %d operations", r.Total.Count)
	}
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
