package correlate

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/internal/apportion"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
)

// PriceAttrs returns the attributes of requests that a Price sums up, for [Join.KeepAttrs].
func PriceAttrs(t *price.Table) []string {
	return append(slices.Clone(attrkey.OfRequests[1:]), t.Tenant)
}

type pricing struct {
	table  *price.Table
	forest *trace.Forest
	shared map[*requests.Execution]spending // per nanosecond
	sum    *Price
}

// newPricing prices all operations, of kept requests and others.
func newPricing(t *price.Table, all *requests.Requests, forest *trace.Forest) *pricing {
	p := &pricing{table: t, forest: forest, shared: make(map[*requests.Execution]spending),
		sum: &Price{Currency: t.Currency, Devices: t.Devices}}
	var total, unpriced wide.Sum
	of := func(ops func(func(trace.Node) bool)) (exact spending) {
		for n := range ops {
			if n.Side() != 0 {
				continue
			}
			total.Add(n.Duration())
			if t.Find(n.Device().DeviceID) < 0 {
				unpriced.Add(n.Duration())
			}
			exact.add(p.perNS(n), float64(n.Duration()))
		}
		p.sum.Total.exact.add(exact, 1)
		return exact
	}
	of(all.Unattached())
	for i := range all.List {
		of(all.List[i].Operations())
	}
	for i := range all.Shared {
		if e := &all.Shared[i]; e.SumNS > 0 {
			var mean spending
			mean.add(of(e.Operations()), 1/float64(e.SumNS))
			p.shared[e] = mean
		}
	}
	p.sum.Total.DeviceNS = total.Int64()
	p.sum.UnpricedNS = unpriced.Int64()
	return p
}

func (p *pricing) perNS(n trace.Node) spending {
	i := p.table.Find(n.Device().DeviceID)
	if i < 0 {
		return spending{}
	}
	d := &p.table.Devices[i]
	return spending{d.PerHour / 3.6e12, d.Watts / 1e9}
}

// charge prices a request, without the amounts.
func (p *pricing) charge(q *requests.Request) *Charge {
	c := &Charge{Requests: 1, DeviceNS: q.OwnNS + q.SharedNS}
	for n := range q.Operations() {
		if n.Side() == 0 {
			c.exact.add(p.perNS(n), float64(n.Duration()))
		}
	}
	for e, ns := range q.Executions() {
		c.exact.add(p.shared[e], float64(ns))
	}
	for _, key := range []string{attrkey.InputTokens, attrkey.OutputTokens} {
		tokens, err := strconv.ParseInt(p.forest.Attr(q.TraceID, q.SpanID, key), 10, 64)
		if err == nil && tokens > 0 && tokens < 1<<40 {
			c.Tokens += tokens
		}
	}
	if c.Tokens > 0 {
		c.stated = c.exact
	}
	return c
}

// finish sets the amounts of the rows' charges and sums them up.
func (p *pricing) finish(rows []Request) *Price {
	sum := p.sum
	charges := make([]*Charge, 0, len(rows)+1)
	sum.Rest.DeviceNS = sum.Total.DeviceNS
	sum.Rest.exact = sum.Total.exact
	for i := range rows {
		c := rows[i].Charge
		charges = append(charges, c)
		sum.Total.Requests++
		sum.Total.Tokens += c.Tokens
		sum.Total.stated.add(c.stated, 1)
		sum.Rest.DeviceNS -= c.DeviceNS
		sum.Rest.exact.add(c.exact, -1)
	}
	if sum.Rest.DeviceNS == 0 {
		sum.Rest.exact = spending{} // a rounding error
	}
	charges = append(charges, &sum.Rest)
	money := func(s *spending) *float64 { return &s.money }
	energy := func(s *spending) *float64 { return &s.energy }
	divideAmount(charges, &sum.Total, 12, money, func(c *Charge) *Amount { return &c.Cost })
	divideAmount(charges, &sum.Total, 9, energy, func(c *Charge) *Amount { return &c.Joules })
	for _, c := range append(charges, &sum.Total) {
		c.perThousand()
	}
	sum.Tenants = p.by(rows, p.table.Tenant, nil)
	sum.Models = p.by(rows, attrkey.RequestModel, nil)
	sum.Routes = p.by(rows, attrkey.RequestRoute, func(r *Request) string { return r.Root })
	return sum
}

// divideAmount gives total an amount of six digits, at most most of them after the point, and divides it among charges.
func divideAmount(charges []*Charge, total *Charge, most int, of func(*spending) *float64, to func(*Charge) *Amount) {
	value := *of(&total.exact)
	digits := 0
	if value > 0 {
		digits = min(max(5-int(math.Floor(math.Log10(value))), 2), most)
	}
	units := int64(min(math.Round(value*math.Pow10(digits)), math.MaxInt64/2))
	weights := make([]int64, len(charges))
	all := uint64(0)
	for i, c := range charges {
		if value > 0 {
			weights[i] = int64(max(0, *of(&c.exact)) / value * (1 << 52))
			all += uint64(weights[i])
		}
	}
	*to(total) = Amount{units, digits}
	if all == 0 {
		units = 0
		all = 1
	}
	for i, n := range apportion.By(units, weights, all) {
		*to(charges[i]) = Amount{n, digits}
	}
}

// by sums up the charges of rows by an attribute, or by otherwise for requests without it.
func (p *pricing) by(rows []Request, key string, otherwise func(*Request) string) []Charge {
	sums := make(map[string]*Charge)
	named := otherwise != nil
	for i := range rows {
		r := &rows[i]
		name := p.forest.Attr(r.TraceID, r.RootSpanID, key)
		named = named || name != ""
		if name == "" && otherwise != nil {
			name = otherwise(r)
		}
		c := order.At(sums, name)
		c.Name = name
		c.Add(r.Charge)
	}
	list := []Charge{}
	if !named {
		return list
	}
	for _, c := range sums {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Charge) int {
		return cmp.Or(cmp.Compare(b.Cost.Units, a.Cost.Units), cmp.Compare(b.DeviceNS, a.DeviceNS),
			strings.Compare(a.Name, b.Name))
	})
	return list
}
