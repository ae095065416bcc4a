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
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// PriceAttrs returns the attributes of requests needed for a Price, for [Join.KeepAttrs].
func PriceAttrs(t *price.Table) []string {
	return append(slices.Clone(attrkey.OfRequests[1:]), t.Tenant)
}

type pricing struct {
	table  *price.Table
	forest *trace.Forest
	shared map[*requests.Execution]*sharedTime
	billed []int64         // by row
	saved  map[int32]int64 // by engines' requests, see replay
	owner  []int32
	alone  map[int32]*aloneTime // by owner, see ownerOf
	sum    *Price
}

// aloneTime is the time of devices working for a single request or execution.
type aloneTime struct {
	spending
	ns int64
}

// sharedTime is the time of an execution. Its requests take parts.
type sharedTime struct {
	mean          spending // per nanosecond of the devices
	of, billed    int64    // the time of the operations, and of the devices
	taken, passed int64    // by requests so far
}

// take returns the part of the devices' time for ns of the operations.
func (s *sharedTime) take(ns int64) int64 {
	if s.of == s.billed {
		return ns
	}
	s.taken += ns
	before := s.passed
	s.passed = int64(float64(s.taken) / float64(s.of) * float64(s.billed))
	return s.passed - before
}

// bill divides the time of each device among its operations. Concurrent operations share it equally. An operation without
// a start has its duration.
func (p *pricing) bill() {
	f := p.forest
	p.billed = make([]int64, f.Len())
	for r := range f.Rows() {
		p.billed[r] = f.Duration(r)
		if f.IsDeviceSide(r) && (!f.Has(r, trace.FlagStart) || f.DeviceKey(r).DeviceID == key.Other) {
			p.addAlone(p.ownerOf(r), r, f.Duration(r))
		}
	}
	shares := make([]float64, f.Len())
	for k, rows := range f.Devices.All() {
		if k.DeviceID == key.Other { // several devices
			continue
		}
		ends := slices.Clone(rows)
		order.Rows(ends, f.End, f.CompareStart)
		var busy int64
		share := 0.0 // of an operation that runs all the time
		at := int64(0)
		var running working
		for started, ended := 0, 0; ended < len(ends); {
			r := ends[ended]
			to := f.End(r)
			starts := started < len(rows) && f.Start(rows[started]) <= to
			if starts {
				r = rows[started]
				to = f.Start(r)
			}
			if n := started - ended; n > 0 {
				ns := wide.Between(at, to)
				busy = wide.AddSaturating(busy, ns)
				share += float64(ns) / float64(n)
				if owner, one := running.one(); one {
					p.addAlone(owner, rows[0], ns)
				}
			}
			at = to
			if starts {
				started++
				running.add(p.ownerOf(r), 1)
			} else {
				ended++
				running.add(p.ownerOf(r), -1)
			}
			shares[r] = share - shares[r] // of the start, then of the operation
		}
		weights := make([]int64, len(rows))
		sum := uint64(0)
		for i, r := range rows {
			weights[i] = int64(shares[r] * min(256, 0x1p60/float64(max(1, busy))))
			sum += uint64(weights[i])
		}
		if sum > 0 {
			for i, ns := range apportion.By(busy, weights, sum) {
				p.billed[rows[i]] = ns
			}
		}
	}
}

// working counts the running operations of a device by owner.
type working map[int32]int

func (w *working) add(owner int32, n int) {
	if *w == nil {
		*w = make(working)
	}
	if (*w)[owner] += n; (*w)[owner] == 0 {
		delete(*w, owner)
	}
}

// one returns the only owner.
func (w *working) one() (owner int32, ok bool) {
	for owner = range *w {
	}
	return owner, len(*w) == 1
}

// addAlone adds time of the device of row r with work for a single owner.
func (p *pricing) addAlone(owner, r int32, ns int64) {
	a := order.At(p.alone, owner)
	a.ns = wide.AddSaturating(a.ns, ns)
	a.add(p.perNS(p.forest.Node(r)), float64(ns))
}

// ownerOf returns the request of an operation, or a negative number for its execution or for no request.
func (p *pricing) ownerOf(r int32) int32 {
	if x := p.forest.ExecutionOf(r, p.owner); x != trace.NoExecution {
		return -2 - x
	}
	return p.owner[r]
}

// newPricing prices all operations, of kept requests and others.
func newPricing(t *price.Table, all *requests.Requests, forest *trace.Forest, graph *replay.Graph) *pricing {
	p := &pricing{table: t, forest: forest, shared: make(map[*requests.Execution]*sharedTime),
		owner: forest.RequestOwners(), alone: make(map[int32]*aloneTime),
		sum: &Price{Currency: t.Currency, Devices: t.Devices}}
	p.bill()
	p.saved = graph.SavedByRequest(func(row int32) int64 { return p.billed[row] })
	var total, unpriced wide.Sum
	of := func(ops func(func(trace.Node) bool)) (exact spending, ns int64) {
		for n := range ops {
			if n.Side() != 0 {
				continue
			}
			billed := p.billed[n.Row]
			total.Add(billed)
			if t.Find(n.Device().DeviceID) < 0 {
				unpriced.Add(billed)
			}
			exact.add(p.perNS(n), float64(billed))
			ns = wide.AddSaturating(ns, billed)
		}
		p.sum.Total.exact.add(exact, 1)
		return exact, ns
	}
	of(all.Unattached())
	for i := range all.List {
		of(all.List[i].Operations())
	}
	for i := range all.Shared {
		if e := &all.Shared[i]; e.SumNS > 0 {
			exact, billed := of(e.Operations())
			s := &sharedTime{of: e.SumNS, billed: billed}
			s.mean.add(exact, 1/float64(max(1, billed)))
			p.shared[e] = s
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
	watts := cmp.Or(p.forest.Power(n.Row), d.Watts)
	return spending{d.PerHour / 3.6e12, watts / 1e9}
}

// charge prices a request, without the amounts.
func (p *pricing) charge(q *requests.Request) *Charge {
	c := &Charge{Requests: 1}
	for n := range q.Operations() {
		if n.Side() == 0 {
			c.exact.add(p.perNS(n), float64(p.billed[n.Row]))
			c.DeviceNS = wide.AddSaturating(c.DeviceNS, p.billed[n.Row])
		}
	}
	byLaw := int64(0) // of executions
	var shared spending
	for e, ns := range q.Executions() {
		if s := p.shared[e]; s != nil {
			billed := s.take(ns)
			shared.add(s.mean, float64(billed))
			byLaw = wide.AddSaturating(byLaw, billed)
		}
	}
	c.exact.add(shared, 1)
	c.DeviceNS = wide.AddSaturating(c.DeviceNS, byLaw)
	p.addSaved(c, q, shared, byLaw)
	for _, name := range []string{attrkey.InputTokens, attrkey.OutputTokens} {
		tokens, err := strconv.ParseInt(p.forest.Attr(q.TraceID, q.SpanID, name), 10, 64)
		if err == nil && tokens > 0 && tokens < 1<<40 {
			c.Tokens += tokens
		}
	}
	if c.Tokens > 0 {
		c.stated = c.exact
	}
	return c
}

// addSaved adds the savings without a request. shared and byLaw are its shares of executions.
func (p *pricing) addSaved(c *Charge, q *requests.Request, shared spending, byLaw int64) {
	if q.Root.IsZero() {
		return
	}
	saved, isServed := p.saved[q.Root.Row]
	if byLaw > 0 && !isServed {
		return
	}
	if a := p.alone[q.Root.Row]; a != nil {
		saved += a.ns
		c.saved.add(a.spending, 1)
	}
	if isServed {
		c.saved.add(shared, float64(p.saved[q.Root.Row])/float64(max(1, byLaw)))
	}
	c.SavedNS = op.Known(saved)
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
		if c.SavedNS.Known {
			digits := sum.Total.Cost.Digits
			c.SavedCost = &Amount{int64(math.Round(c.saved.money * math.Pow10(digits))), digits}
		}
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
