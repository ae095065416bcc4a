package correlate_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// near reports whether a number differs from the exact one by at most so many units of its last digit.
func near(got correlate.Amount, exact *big.Rat, most float64) bool {
	number, _ := new(big.Rat).SetString(got.String())
	d, _ := number.Sub(number, exact).Float64()
	return math.Abs(d) <= most*math.Pow10(-got.Digits)
}

// The charges add up to the time of the devices times their prices, to the last digit, in every list, whatever requests
// are kept and whichever side holds them.
func TestChargesAddUpToTheLastDigit(t *testing.T) {
	priced := 0
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		spans := randomSpans(r)
		table := &price.Table{Tenant: "customer", Devices: []price.Device{
			{Match: "x", PerHour: float64(r.IntN(9)) * 1e9, Watts: float64(r.IntN(3)) * 1e6},
			{Match: "y", PerHour: r.Float64() * 1e10},
		}}
		even := r.IntN(2) == 0
		if even {
			table.Devices[1] = price.Device{Match: "*", PerHour: table.Devices[0].PerHour,
				Watts: table.Devices[0].Watts}
		} else if r.IntN(4) == 0 {
			table.Devices = table.Devices[:1] // y has no price
		}
		j := correlate.NewJoin()
		j.KeepAttrs(correlate.PriceAttrs(table)...)
		money := new(big.Rat)
		var time, unpriced int64
		busy := make(map[[2]any]bool)
		for i := range spans {
			rec := spans[i].Record()
			if rec.Span != nil && r.IntN(3) > 0 {
				rec.Span.Attrs = []op.Attr{{Key: "customer", Value: string(rune('a' + r.IntN(3)))},
					{Key: attrkey.InputTokens, Value: "7", Type: op.AttrInt}}
			}
			if r.IntN(2) == 0 {
				j.AddLocal(rec)
			} else {
				j.AddService(rec)
			}
			if e := rec.Entry; e != nil {
				ns := e.Duration
				if e.Start.Known { // each nanosecond of a device counts once
					ns = 0
					for at := e.Start.V; at < e.Start.V+e.Duration; at++ {
						if moment := [2]any{e.DeviceID, at}; !busy[moment] {
							busy[moment] = true
							ns++
						}
					}
				}
				time += ns
				if n := table.Find(e.DeviceID); n >= 0 {
					hour := new(big.Rat).SetFloat64(table.Devices[n].PerHour)
					money.Add(money, hour.Mul(hour, big.NewRat(ns, 3_600_000_000_000)))
				} else {
					unpriced += ns
				}
			}
		}
		opts := correlate.Options{Price: table}
		if r.IntN(2) == 0 {
			opts.Keep = func(q *requests.Request) bool { return q.TraceID[15]%2 == 0 }
		}
		report := j.Report(opts)
		p := report.Price
		name := fmt.Sprintf("seed %d", seed)
		got := [2]int64{p.Total.DeviceNS, p.UnpricedNS}
		check.Equal(t, name+": time of devices and without a price", [2]int64{time, unpriced}, got)
		if !near(p.Total.Cost, money, 0.51) {
			t.Errorf("%s: cost %v, want %v", name, p.Total.Cost, money.FloatString(14))
		}
		var all []correlate.Charge
		tokens := int64(0)
		for i := range report.Requests {
			c := report.Requests[i].Charge
			all = append(all, *c)
			tokens += c.Tokens
			hour := new(big.Rat).SetFloat64(table.Devices[0].PerHour)
			exact := hour.Mul(hour, big.NewRat(c.DeviceNS, 3_600_000_000_000))
			if even && !near(c.Cost, exact, 1.01) {
				t.Errorf("%s: a request of %d ns costs %v, want %v", name, c.DeviceNS, c.Cost, exact.FloatString(14))
			}
		}
		for list, rows := range map[string][]correlate.Charge{
			"requests": all, "tenants": p.Tenants, "models": p.Models, "routes": p.Routes,
		} {
			if len(rows) == 0 && (list == "models" || tokens == 0) {
				continue
			}
			sum := p.Rest
			for i := range rows {
				sum.Add(&rows[i])
			}
			want := [5]int64{int64(len(all)), time, p.Total.Cost.Units, p.Total.Joules.Units, tokens}
			got := [5]int64{sum.Requests, sum.DeviceNS, sum.Cost.Units, sum.Joules.Units, sum.Tokens}
			check.Equal(t, name+": sum of "+list, want, got)
			priced += len(rows)
		}
	})
	if cases.All() && priced < 1000 {
		t.Errorf("only %d charges", priced)
	}
}

// A request's own operations cost the prices of their devices, its part of a step costs the mean price of the step.
func TestChargesByDeviceAndWeight(t *testing.T) {
	table := &price.Table{Tenant: "tenant.id", Devices: []price.Device{
		{Match: "gpu*", PerHour: 36, Watts: 500}, {Match: "fpga", PerHour: 3.6},
	}}
	j := correlate.NewJoin()
	j.KeepAttrs(correlate.PriceAttrs(table)...)
	const second = 1_000_000_000
	for _, s := range []tracetest.Spec{
		tracetest.SpanAt("a", 1, 0, 0, 9*second), tracetest.SpanAt("b", 1, 0, 0, 9*second).In(2),
		tracetest.SpanAt("step", 1, 0, 0, 9*second).In(3),
		tracetest.OpAt("matmul", 2, 1, 0, 2*second).On("gpu:1").In(3),
		tracetest.OpAt("sample", 3, 1, second, 3*second).On("fpga").In(3),
		tracetest.OpAt("tokenize", 2, 1, 0, second).On("fpga"),
	} {
		rec := s.Record()
		switch s.Name {
		case "step":
			rec.Span.Links = []op.Link{
				{TraceID: traceOf(1), SpanID: idOf(1), Weight: op.Known(1)},
				{TraceID: traceOf(2), SpanID: idOf(1), Weight: op.Known(3)},
			}
		case "b":
			rec.Span.Attrs = []op.Attr{
				{Key: "tenant.id", Value: "them"}, {Key: attrkey.InputTokens, Value: "90", Type: op.AttrInt},
				{Key: attrkey.OutputTokens, Value: "10", Type: op.AttrInt},
			}
		}
		j.AddLocal(rec)
	}
	got := map[string]string{}
	report := j.Report(correlate.Options{Price: table})
	for _, r := range report.Requests {
		c := r.Charge
		got[r.Root] = fmt.Sprint(c.DeviceNS, c.Cost, c.Joules, c.Tokens, c.CostPerThousand)
	}
	for _, c := range append(report.Price.Tenants, report.Price.Total) {
		got["of "+c.Name] = fmt.Sprintf("%d %v %.6g %.6g", c.Requests, c.Cost, c.CostPerThousand, c.JoulesPerThousand)
	}
	// The step costs 0.02 + 0.002. a pays a quarter of it, and 0.001 of its own.
	check.Equal(t, "charges", map[string]string{
		"a": "2000000000 0.0065000 250.00 0 0", "b": "3000000000 0.0165000 750.00 100 0.165",
		"of them": "1 0.0165000 0.165 7500", "of ": "2 0.0230000 0.165 7500",
	}, got)
}

// A device costs its time once, whatever runs on it at once.
func TestOperationsAtOnceShareThePrice(t *testing.T) {
	table := &price.Table{Devices: []price.Device{{Match: "*", PerHour: 3600}}}
	const second = 1_000_000_000
	for name, test := range map[string]struct {
		ops  []tracetest.Spec
		want string
	}{
		"two streams": {[]tracetest.Spec{
			tracetest.OpAt("matmul", 2, 1, 0, 2*second), tracetest.OpAt("all_reduce", 3, 1, 0, 2*second).OnStream(9),
		}, "2.00000"},
		"a third of it": {[]tracetest.Spec{
			tracetest.OpAt("matmul", 2, 1, 0, 2*second), tracetest.OpAt("add", 3, 1, second, 3*second).OnStream(9),
		}, "3.00000"},
		"one after the other": {[]tracetest.Spec{
			tracetest.OpAt("matmul", 2, 1, 0, second), tracetest.OpAt("add", 3, 1, second, 2*second),
		}, "2.00000"},
		"two devices": {[]tracetest.Spec{
			tracetest.OpAt("matmul", 2, 1, 0, second), tracetest.OpAt("matmul", 3, 1, 0, second).On("gpu:1"),
		}, "2.00000"},
	} {
		j := correlate.NewJoin()
		j.AddLocal(tracetest.SpanAt("a", 1, 0, 0, 9*second).Record())
		for _, s := range test.ops {
			j.AddLocal(s.Record())
		}
		p := j.Report(correlate.Options{Price: table}).Price
		check.Equal(t, name, test.want, p.Total.Cost.String())
		check.Equal(t, name+": of the request", test.want, p.Routes[0].Cost.String())
	}
}

// Operations of two streams at once are billed once. Without one request the device works on for the other.
func TestTwoStreamsOfADeviceAreBilledOnce(t *testing.T) {
	var records []op.Record
	add := func(trace, id byte, stream, start, ns int64) {
		records = append(records, op.Record{Entry: &op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", Stream: op.Known(stream), TraceID: op.TraceID{15: trace},
			SpanID: op.SpanID{7: id}, ParentSpanID: op.SpanID{7: 1}, Start: op.Known(start), Duration: ns,
		}})
	}
	for trace := byte(1); trace <= 2; trace++ {
		records = append(records, op.Record{Span: &op.Span{
			Name: "POST", TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: 1}, Start: op.Known(0), Duration: 100,
		}})
	}
	add(1, 2, 7, 0, 60)
	add(1, 3, 8, 20, 20) // with itself
	add(2, 4, 8, 50, 40) // 10 with the other request
	r := joined(records).Report(correlate.Options{Price: &price.Table{Devices: []price.Device{{Match: "*",
		PerHour: 3.6e12}}}})
	check.Equal(t, "total", int64(90), r.Price.Total.DeviceNS)
	for i, want := range [][2]int64{{55, 50}, {35, 30}} {
		c := r.Requests[i].Charge
		check.Equal(t, "share and saved", want, [2]int64{c.DeviceNS, c.SavedNS.V})
		check.Equal(t, "cost", fmt.Sprint(want[1]), c.SavedCost.String()[:2])
	}
}
