package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// sampleRecords returns a request on two ranks: computation, an all-reduce overlapped by one of them, a copy, a host
// side, and an operation with few known properties.
func sampleRecords(t *testing.T) []op.Record { return recordtest.File(t, "testdata/sample.jsonl") }

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
	golden.Check(t, "testdata/report.json", reportJSON(t, sampleReport(sampleRecords(t), "device,shape", true)))
	golden.Check(t, "testdata/report_flat.json", reportJSON(t, sampleReport(sampleRecords(t), "", false)))
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
			cmpopts.IgnoreFields(profile.Stats{}, "SelfNS", "SelfShare"),
			cmpopts.IgnoreFields(profile.Device{}, "SpanNS", "BusyNS", "ComputeNS", "ExposedCommunicationNS",
				"ExposedMemoryNS",
				"OtherNS", "IdleNS", "CommunicationNS", "MemoryNS", "OverlapNS", "OverlapRatio"),
			cmpopts.IgnoreFields(profile.Balance{}, "BusyImbalanceRatio"),
			cmpopts.IgnoreFields(Memory{}, "OverTime"),
			cmpopts.IgnoreFields(Communication{}, "Collectives"),
			cmpopts.IgnoreFields(Report{}, "CriticalPath", "Operators", "PathOperations", "PathTotals",
				"SlowestRequest", "Sequences"),
			cmpopts.IgnoreFields(Report{}, "Coverage", "ExtentNS", "Headline", "Findings", "Idle", "IdleCauses",
				"IdlePlaces",
				"Steps", "StatedSteps", "Utilisation", "Concurrency"),
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
	type summary [3]int64 // count, duration and memory
	plus := func(a, b summary) summary { return summary{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
	sums := func(of map[string]summary, want func(string) bool) (list []seed.Sum) {
		for name, s := range of {
			if want(name) {
				list = append(list, seed.Sum{Name: name, Count: s[0], NS: s[1]})
			}
		}
		return list
	}
	cases.Seeds(t, 40, func(number uint64, r *rand.Rand) {
		opts := Options{HotspotBytes: 16, Top: profile.DefaultTop}
		p := profile.New(opts.sums())
		operations, devices := map[string]summary{}, map[string]summary{}
		var total summary
		peak := int64(0)
		slowest, hotspots := []*op.Entry{}, []*op.Entry{}
		for i := range 1 + r.IntN(200) {
			e := tracetest.RandomEntry(r, i)
			e.Side = op.SideNone
			e.Start = op.Int{}
			e.Rank = op.Int{}
			e.Kind, e.KindRule = op.InferKind(e.Operation)
			p.Add(&e)
			s := summary{1, e.Duration, e.MemoryBytes.V}
			total = plus(total, s)
			operations[e.Operation] = plus(operations[e.Operation], s)
			if e.HasDevice() {
				devices[e.DeviceID] = plus(devices[e.DeviceID], s)
			}
			peak = max(peak, s[2])
			slowest = append(slowest, &e)
			if s[2] > opts.HotspotBytes {
				hotspots = append(hotspots, &e)
			}
		}
		slices.SortStableFunc(slowest, func(a, b *op.Entry) int { return int(b.Duration - a.Duration) })
		rep := ReportOn(p)
		gotOperations, gotDevices := map[string]summary{}, map[string]summary{}
		for _, row := range rep.Operations {
			gotOperations[row.Operation] = summary{row.Count, row.SumNS, row.MemoryBytes.V}
		}
		for _, row := range rep.Devices {
			if row.DeviceID != device.Unknown {
				gotDevices[row.DeviceID] = summary{row.Count, row.SumNS, row.MemoryBytes.V}
			}
		}
		var balance *seed.Balance
		if rep.LoadBalance != nil {
			balance = &rep.LoadBalance.Balance
		}
		check.Equal(t, fmt.Sprintf("seed %d", number), []any{
			operations, devices, seed.NewBalance(sums(devices, func(string) bool { return true })),
			seed.Bottlenecks(sums(operations, op.IsCommunicationName), total[1], 0),
			slowest[:min(len(slowest),
				opts.Top)], total, peak, int64(len(hotspots)), hotspots[:min(len(hotspots), opts.Top)],
		}, []any{
			gotOperations, gotDevices, balance, rep.Communication.Bottlenecks, rep.Slowest,
			summary{rep.Total.Count, rep.Total.SumNS, rep.Total.MemoryBytes.V}, rep.Total.PeakMemoryBytes.V,
			rep.Memory.HotspotCount, rep.Memory.Hotspots,
		}, cmpopts.EquateApprox(1e-12, 1e-9))
	})
}

// Errors add up to the errors of operations and of groups, also with repeated records. Errors of spans are separate.
func TestErrorsAddUp(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		records := tracetest.RecordsOf(r, tracetest.RandomSpecs(r, 60))
		spans := int64(0)
		for i := range records {
			if s := records[i].Span; s != nil && r.IntN(3) == 0 {
				s.Failed = true
				s.Extra = tracetest.Pick(r, nil, &op.Extra{Message: "status 500"})
				spans++
			}
		}
		report := check.Must(Run(t.Context(), Records(recordtest.All(records...)),
			Options{By: tracetest.Keys("error")}))(t)
		var operations, groups int64
		for _, o := range report.Operations {
			operations += o.Errors
		}
		for _, g := range report.Groups {
			if groups += g.Errors; g.Key.Values[0].Known != (g.Errors > 0) || g.Errors > 0 && g.Errors != g.Count {
				t.Errorf("seed %d: the group %v has %d errors of %d operations", seed, g.Key, g.Errors, g.Count)
			}
		}
		sum := func(rows []profile.Error) (n int64) {
			for _, e := range rows {
				n += e.Count
			}
			return n
		}
		check.Equal(t, fmt.Sprintf("seed %d: errors", seed), operations, sum(report.Errors))
		check.Equal(t, fmt.Sprintf("seed %d: errors of groups", seed), operations, groups)
		if report.Input.Repeated.V == 0 {
			check.Equal(t, fmt.Sprintf("seed %d: errors of spans", seed), spans, sum(report.SpanErrors))
		}
	})
}

// A failed request counts once even if its record is repeated.
func TestErrorsOfRepeats(t *testing.T) {
	request := tracetest.SpanAt("POST /predict", 1, 0, 0, 50).Span()
	request.Failed = true
	operation := tracetest.OpAt("matmul", 2, 1, 0, 40).Entry()
	operation.Failed = true
	records := []op.Record{{Span: request}, {Entry: operation}, {Span: request}, {Entry: operation}}
	report := check.Must(Run(t.Context(), Records(recordtest.All(records...)), Options{}))(t)
	if report.SpanErrors[0].Count != 1 || report.Errors[0].Count != 1 {
		t.Errorf("errors %+v, of spans %+v", report.Errors, report.SpanErrors)
	}
}

// The finding names the most frequent error text over all operations.
func TestMostFrequentErrorIsOfAllOperations(t *testing.T) {
	var records []op.Record
	errors := map[string]int{"matmul": 4, "relu": 3, "softmax": 3}
	for name, text := range map[string]string{"matmul": "timeout", "relu": "out of memory",
		"softmax": "out of memory"} {
		for range errors[name] {
			e := tracetest.OpAt(name, uint64(len(records)+1), 0, int64(10*len(records)), 5).Entry()
			e.Failed = true
			e.Error = text
			records = append(records, op.Record{Entry: e})
		}
	}
	report := check.Must(Run(t.Context(), Records(recordtest.All(records...)), Options{}))(t)
	if text := report.Findings[0].Text; !strings.Contains(text, `most often "out of memory" (6)`) {
		t.Errorf("the first finding: %s", text)
	}
}

// FindingsOf returns the findings of the report on the same records.
func TestFindingsOf(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		records := plainRecords(tracetest.SuspiciousSpecs(r, 60))
		source := Records(recordtest.All(records...))
		report := check.Must(Run(t.Context(), source, Options{}))(t)
		forest, in, err := ReadForest(t.Context(), source, 1)
		check.OK(t, err)
		check.Equal(t, fmt.Sprintf("seed %d", seed), report.Findings, FindingsOf(forest, in))
	})
}

// Any entries give a report, and it encodes to JSON, without NaN and infinities.
func TestReportOnHostileEntries(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		var records []op.Record
		for range r.IntN(30) {
			e := hostileEntry(r)
			records = append(records, op.Record{Entry: &e})
		}
		for range r.IntN(3) {
			records = append(records, op.Record{Batch: &op.Batch{Sequence: r.Int64(),
				Entries: r.Int64() - math.MaxInt64/2}})
		}
		by := tracetest.Pick(r, "", "operation,shape", "rank,stream,step", "trace,root,service,kind,device")
		rep := sampleReport(records, by, true)
		if text, err := json.Marshal(rep); err != nil || !json.Valid(text) {
			t.Errorf("seed %d: %v", seed, err)
		}
		if rep.Total.SumNS < 0 || rep.Total.WallNS.Known && rep.Total.WallNS.V < 0 || rep.Total.MemoryBytes.V < 0 {
			t.Errorf("seed %d: a negative total: %+v", seed, rep.Total)
		}
	})
}

// Row D2 of docs/faults.md: an unlimited number of names takes the limited rows and one for the rest, without losing
// sums.
func TestManyNames(t *testing.T) {
	const names = 50_000
	const limit = 2_500
	records := operations(names, func(i int) string { return "op" + strconv.Itoa(i) })
	r := check.Must(Run(t.Context(), Records(records), Options{SumsOnly: true, MaxGroups: limit}))(t)
	var count, sum, others int64
	for _, row := range r.Operations {
		count += row.Count
		sum += row.SumNS
		if row.Operation == key.Other {
			others = row.Count
		}
	}
	n := int64(names)
	if len(r.Operations) != limit+1 || others != n-limit {
		t.Errorf("%d rows, %d operations in that of the others", len(r.Operations), others)
	}
	if count != n || sum != n*(n-1)/2 || r.Total.Count != n || r.Total.SumNS != sum {
		t.Errorf("the rows have %d operations of %d ns, the total %d of %d", count, sum, r.Total.Count, r.Total.SumNS)
	}
	// The number of folded names is an estimate.
	if over := r.Input.OverflowedGroups; over < others*9/10 || over > others*11/10 {
		t.Errorf("%d groups overflowed, want about %d", over, others)
	}
}

// Figures without suspects equal the report on the other operations.
func TestReportWithoutSuspects(t *testing.T) {
	clean := 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.SuspiciousSpecs(r, 1+r.IntN(60))
		for i := range specs {
			specs[i].Rank = op.Known(r.Int64N(2))
			specs[i].Kind = tracetest.Pick(r, op.KindCompute, op.KindCollective, op.KindMemory)
			specs[i].Step = op.Known(r.Int64N(3))
			if s := &specs[i]; seed%2 == 1 { // add links, remote parents and launches
				s.Memory = r.Int64N(100)
				s.Remote = r.IntN(8) == 0
				s.IsOp = s.IsOp && r.IntN(6) > 0
				if r.IntN(8) == 0 {
					*s = s.To(1, uint64(1+r.IntN(len(specs))))
				}
				if r.IntN(4) == 0 {
					s.Launch = op.Known(s.Start - r.Int64N(50*tracetest.Microsecond))
				}
				if !s.IsOp {
					s.Launch = op.Int{}
				}
			}
		}
		by := tracetest.Pick(r, "", "kind", "rank,operation", "trace,stream")
		durations, clock := tracetest.NaiveSuspects(specs)
		got := sampleReport(plainRecords(specs), by, true).WithoutSuspects
		if len(durations)+len(clock) == 0 {
			clean++
			if got != nil {
				t.Errorf("seed %d: figures without suspects", seed)
			}
			return
		}
		left := sampleReport(plainRecords(naiveWithout(specs, durations, clock)), by, true)
		want := &WithoutSuspects{
			Total: left.Total, Operations: left.Operations, Groups: left.Groups, Devices: left.Devices,
			LoadBalance:   left.LoadBalance,
			Communication: left.Communication, IdleCauses: left.IdleCauses, Launches: left.Launches,
			PathTotals: left.PathTotals, Steps: left.Steps,
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got, tracetest.EqualKeys)
	})
	if clean == 0 || cases.All() && clean > 2500 {
		t.Errorf("%d inputs have no suspects", clean)
	}
}

// naiveWithout removes specs with suspect durations, whose children move up, and specs at or below clock problems.
func naiveWithout(specs []tracetest.Spec, durations, clock []int32) []tracetest.Spec {
	tree := tracetest.NewNaiveTree(specs)
	out := make([]bool, len(specs))
	for _, i := range durations {
		out[i] = true
	}
	for i := range specs {
		for at := i; at >= 0; at = tree.Parent[at] {
			for _, c := range clock {
				out[i] = out[i] || at == int(c)
			}
		}
		out[i] = out[i] || tree.Repeat[i]
	}
	return tracetest.NaiveReduced(specs, out)
}

// An incomplete forest has no figures without suspects.
func TestReportWithoutSuspectsBeyondTheLimit(t *testing.T) {
	specs := []tracetest.Spec{
		tracetest.OpAt("long", 1, 0, 0, 300*tracetest.Microsecond).OnStream(1),
		tracetest.OpAt("a", 2, 0, 10*tracetest.Microsecond, 20*tracetest.Microsecond).OnStream(1),
		tracetest.OpAt("b", 3, 0, 400*tracetest.Microsecond, 500*tracetest.Microsecond).OnStream(1),
	}
	c := newCollector(Options{})
	c.forest = trace.NewLimited(2)
	for _, s := range specs {
		c.addEntry(s.Entry())
	}
	r := c.report()
	if r.Input.SuspectDurations != op.Known(1) || r.WithoutSuspects != nil {
		t.Errorf("%v suspect durations, without them %+v", r.Input.SuspectDurations, r.WithoutSuspects)
	}
}

// hostileEntry returns an entry with extreme and invalid values, never returned by readers.
func hostileEntry(r *rand.Rand) op.Entry {
	limit := func() int64 {
		return tracetest.Pick(r, 0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt64+1, math.MaxInt64-1, r.Int64())
	}
	maybe := func() op.Int { return op.Int{V: limit(), Known: r.IntN(3) > 0} }
	text := func() string {
		return tracetest.Pick(r, "", "a", "a\x00b", "\xff\xfe", "a;b\n", "(other)", "unknown", "ncclX", "memcpy dtoh")
	}
	return op.Entry{
		Step: maybe(), Operation: text(), Kind: op.Kind(r.Uint32()), KindRule: op.KindRule(r.Uint32()),
		Side:     op.Side(r.Uint32()),
		DeviceID: text(), Stream: maybe(), Rank: maybe(), Start: maybe(), Duration: limit(), Launch: maybe(),
		InputShapes: tracetest.Pick(r, nil, []op.Shape{}, []op.Shape{nil, {math.MinInt64}}),
		OutputShape: tracetest.Pick(r, nil, op.Shape{}, op.Shape{-9}),
		DType:       op.DType(text()), OutputElements: maybe(), MemoryBytes: maybe(), FLOPs: maybe(),
		TraceID: op.TraceID{byte(r.IntN(2))}, SpanID: op.SpanID{byte(r.IntN(4))},
		ParentSpanID: op.SpanID{byte(r.IntN(4))},
		Root:         text(), Service: text(), Failed: r.IntN(2) == 0, Error: text(),
		AdjustedCount: tracetest.Pick(r, 0, 1, 1e300, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1)),
		Collective: tracetest.Pick(r, nil, &op.Collective{Name: text(), Group: text(), Sequence: maybe(), GroupSize: maybe(),
			InElements: maybe()}),
		Warn: op.Warning(r.Uint32()),
	}
}
