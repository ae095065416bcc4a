package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// sampleRecords returns a request on two ranks: computation, an all-reduce overlapped by one of them, a copy, a host
// side, and an operation with few known properties.
func sampleRecords() []op.Record {
	trace := op.TraceID{0: 0xaa, 15: 1}
	entry := func(id byte, e op.Entry) op.Record {
		e.TraceID = trace
		e.SpanID = op.SpanID{7: id}
		e.ParentSpanID = op.SpanID{7: 1}
		e.Root = "POST /predict"
		e.RootSpanID = op.SpanID{7: 1}
		return op.Record{Entry: &e}
	}
	at := func(offset int64) op.Int { return op.Known(1_700_000_000_000_000_000 + offset) }
	return []op.Record{
		{Span: &op.Span{Name: "POST /predict", TraceID: trace, SpanID: op.SpanID{7: 1}, Start: at(0), Duration: 1000,
			Service: "api"}},
		entry(2, op.Entry{
			Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cuda:0",
			Rank: op.Known(0), Step: op.Known(1),
			InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256}, DType: op.F32,
			Start: at(100), Duration: 300, OutputElements: op.Known(16384), MemoryBytes: op.Known(65536),
			FLOPs: op.Known(25690112),
		}),
		entry(3, op.Entry{
			Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cuda:0",
			Rank: op.Known(1), Step: op.Known(1),
			InputShapes: []op.Shape{{32, 784}, {784, 256}}, OutputShape: op.Shape{32, 256}, DType: op.BF16,
			Start: at(100), Duration: 200, OutputElements: op.Known(8192), MemoryBytes: op.Known(16384),
		}),
		entry(4, op.Entry{
			Operation: "allreduce", Kind: op.KindCollective, KindRule: op.RuleName, DeviceID: "cuda:0",
			Rank: op.Known(0), Step: op.Known(1),
			Start: at(350), Duration: 150, Collective: &op.Collective{Name: "all_reduce", Group: "dp"},
		}),
		entry(5, op.Entry{
			Operation: "allreduce", Kind: op.KindCollective, KindRule: op.RuleAttribute, DeviceID: "cuda:0",
			Rank: op.Known(1), Step: op.Known(1),
			Start: at(400), Duration: 100,
		}),
		entry(6, op.Entry{
			Operation: "Memcpy DtoH (Device -> Pinned)", Kind: op.KindMemory, KindRule: op.RuleName,
			DeviceID: "cuda:0", Rank: op.Known(0),
			Step:  op.Known(1),
			Start: at(600), Duration: 50, MemoryBytes: op.Known(2 << 20),
		}),
		entry(7, op.Entry{
			Operation: "matmul", Side: op.SideHost, Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cpu",
			Rank:  op.Known(0),
			Start: at(50), Duration: 900,
		}),
		entry(8, op.Entry{Operation: "reshape", Kind: op.KindControl, Failed: true, Error: "bad shape",
			Warn: op.WarnBadShape}),
	}
}

func sampleReport(records []op.Record, by string, structure bool) *Report {
	opts := Options{Top: 2, SumsOnly: !structure}
	opts.By, _ = key.Parse(by)
	c := newCollector(opts)
	for _, rec := range records {
		c.add(rec, nil)
	}
	c.counter.endFile("entries-jsonl", 4096)
	return c.report()
}

func reportJSON(t *testing.T, r *Report) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	check.OK(t, enc.Encode(r))
	return b.Bytes()
}

// An empty input also gives a report, without null lists and without divisions by zero.
func TestReportJSON(t *testing.T) {
	golden.Check(t, "testdata/report.json", reportJSON(t, sampleReport(sampleRecords(), "device,shape", true)))
	golden.Check(t, "testdata/report_flat.json", reportJSON(t, sampleReport(sampleRecords(), "", false)))
	golden.Check(t, "testdata/report_empty.json", reportJSON(t, sampleReport(nil, "operation", true)))
}

// Without the structure, structural figures are null and all other figures are the same.
func TestReportWithoutStructure(t *testing.T) {
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		var records []op.Record
		entries := tracetest.RandomEntries(r, r.IntN(100))
		for i := range entries {
			records = append(records, op.Record{Entry: &entries[i]})
		}
		full := sampleReport(records, "device", true)
		flat := sampleReport(records, "device", false)
		structural := cmp.Options{
			tracetest.EqualKeys,
			cmpopts.IgnoreFields(Envelope{}, "Orphans", "Duplicates", "Repeated", "SuspectDurations", "Clock",
				"Cycles", "Suspects", "MissingLinks"),
			cmpopts.IgnoreFields(profile.Stats{}, "SelfNS"),
			cmpopts.IgnoreFields(profile.Device{}, "SpanNS", "BusyNS", "ComputeNS", "ExposedCommunicationNS",
				"ExposedMemoryNS",
				"OtherNS", "IdleNS", "CommunicationNS", "MemoryNS", "OverlapNS", "OverlapRatio"),
			cmpopts.IgnoreFields(profile.Balance{}, "BusyImbalanceRatio"),
			cmpopts.IgnoreFields(Memory{}, "OverTime"),
			cmpopts.IgnoreFields(Communication{}, "Collectives"),
			cmpopts.IgnoreFields(Report{}, "CriticalPath", "Operators", "PathOperations", "PathTotals",
				"SlowestRequest", "Sequences"),
			cmpopts.IgnoreFields(Report{}, "ExtentNS", "Findings", "Idle", "IdleCauses", "Steps", "StatedSteps",
				"Utilisation", "Concurrency"),
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), full, flat, structural)
		if flat.Input.Orphans.Known || flat.Idle != nil || flat.Steps != nil || flat.CriticalPath != nil ||
			flat.PathTotals != nil {
			t.Errorf("seed %d: a figure without the structure it needs", seed)
		}
		for _, row := range full.Operations {
			if !row.SelfNS.Known || row.SelfNS.V > row.SumNS {
				t.Errorf("seed %d: %s: self time %v of %d", seed, row.Operation, row.SelfNS, row.SumNS)
			}
		}
	})
}

// The busy imbalance is known only if all busy times are. It ignores unknown devices.
func TestReportBusyImbalance(t *testing.T) {
	on := func(device string, start op.Int, duration int64) op.Record {
		return op.Record{Entry: &op.Entry{Operation: "a", Kind: op.KindCompute, DeviceID: device, Start: start,
			Duration: duration}}
	}
	at := op.Known(1000)
	for _, tc := range []struct {
		name    string
		records []op.Record
		want    op.Float
	}{
		{"parallel work counts once", []op.Record{on("a", at, 30), on("a", at, 30), on("b", at, 10)},
			op.KnownFloat(0.5)},
		{"a device without starts", []op.Record{on("a", at, 30), on("b", op.Int{}, 10)}, op.Float{}},
		{"not known which device", []op.Record{on("a", at, 30), on("b", at, 10), on("", at, 500)}, op.KnownFloat(0.5)},
		{"no time at all", []op.Record{on("a", at, 0), on("b", at, 0)}, op.KnownFloat(0.0)},
	} {
		balance := sampleReport(tc.records, "", true).LoadBalance
		check.Equal(t, tc.name, tc.want, balance.BusyImbalanceRatio)
	}
	if balance := sampleReport([]op.Record{on("a", at, 30), on("", at, 30)}, "", true).LoadBalance; balance != nil {
		t.Errorf("one device is balanced: %+v", balance)
	}
}

func TestReportSelfTimeOfOthers(t *testing.T) {
	c := newCollector(Options{MaxGroups: 2})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.addEntry(&op.Entry{Operation: name, Duration: 7})
	}
	r := c.report()
	if len(r.Operations) != 3 || r.Operations[0].Operation != "(other)" || r.Operations[0].SelfNS.V != 21 {
		t.Errorf("%+v", r.Operations)
	}
	check.Equal(t, "groups overflowed", 3, r.Input.OverflowedGroups)
}

// A report on a seed trace has the seed's figures.
func TestReportHasSeedFigures(t *testing.T) {
	cases.Seeds(t, 40, func(number uint64, r *rand.Rand) {
		trace := tracetest.RandomTrace(r, 1+r.IntN(200))
		opts := Options{HotspotBytes: 16, Top: profile.DefaultTop}
		p := profile.New(opts.sums())
		for i := range trace.Entries {
			e := &trace.Entries[i]
			e.Rank = op.Int{}
			e.Kind, e.KindRule = op.InferKind(e.Operation)
			p.Add(e)
		}
		rep := ReportOn(p)
		summary := map[string]seed.OpSummary{}
		for _, row := range rep.Operations {
			summary[row.Operation] = seed.OpSummary{
				Count: row.Count, TotalDurationUS: float64(row.SumNS) / 1000, TotalMemoryBytes: row.MemoryBytes.V,
			}
		}
		devices := map[string]seed.DeviceSummary{}
		for _, row := range rep.Devices {
			if row.DeviceID != device.Unknown {
				devices[row.DeviceID] = seed.DeviceSummary{OpCount: row.Count,
					TotalDurationUS:  float64(row.SumNS) / 1000,
					TotalMemoryBytes: row.MemoryBytes.V}
			}
		}
		var balance *seed.Balance
		if rep.LoadBalance != nil {
			balance = &rep.LoadBalance.Balance
		}
		hotspots := seed.MemoryHotspots(trace, opts.HotspotBytes)
		sums := seed.Summarize(trace)
		check.Equal(t, fmt.Sprintf("seed %d", number), []any{
			sums.OperationSummary(), sums.PerDeviceSummary(), sums.LoadBalance(), sums.CommunicationBottlenecks(0),
			trace.SlowestOps(opts.Top),
			int64(trace.StepCount()), trace.TotalDuration, trace.TotalMemoryBytes(), trace.PeakMemoryBytes(),
			int64(len(hotspots)), hotspots[:min(len(hotspots), opts.Top)],
		}, []any{
			summary, devices, balance, rep.Communication.Bottlenecks, rep.Slowest,
			rep.Total.Count, rep.Total.SumNS, rep.Total.MemoryBytes.V, rep.Total.PeakMemoryBytes.V,
			rep.Memory.HotspotCount, rep.Memory.Hotspots,
		}, cmpopts.EquateApprox(1e-12, 1e-9))
	})
}
