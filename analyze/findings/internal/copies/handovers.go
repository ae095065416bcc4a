package copies

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// HandOver is an operation or a span of requests between their executions, such as the transfer between an engine for
// prompts and one for tokens. Bytes is 0 if unknown.
type HandOver struct {
	Name                       string
	IsSpan                     bool
	Requests, Calls, NS, Bytes int64
	BetweenNS                  int64 // the part of NS between executions
}

// Rate returns the mean rate in bytes a second, 0 if unknown.
func (h *HandOver) Rate() float64 { return float64(h.Bytes) / float64(max(1, h.NS)) * 1e9 }

// Text says how much is handed over, and how fast.
func (h *HandOver) Text() string {
	switch {
	case h.IsSpan:
		return units.Plural(h.Calls, "span") + " take " + units.Duration(h.NS)
	case h.Bytes == 0:
		return units.Plural(h.Calls, "copy") + " take " + units.Duration(h.NS)
	}
	return fmt.Sprintf("%s of %s take %s, at %s/s in the mean", units.Plural(h.Calls, "copy"), units.Bytes(h.Bytes),
		units.Duration(h.NS), units.Bytes(int64(h.Rate())))
}

// execution is the time of an execution of a request on an engine.
type execution struct {
	from, to int64
	engine   engine
}

type engine struct {
	service string
	device  int32
}

// HandOvers returns the operations of devices with half of their time between two executions of their request, and the
// spans with half of theirs between those of two engines, most time first. Spans have nothing below them, and are no
// waits.
func HandOvers(f *trace.Forest) []HandOver {
	if f == nil || len(f.Executions.List) == 0 {
		return nil
	}
	owner := f.RequestOwners()
	rows := serving.NewRows(f, owner)
	served := make(map[int32][]execution) // by request
	for i := range f.Executions.List {
		x := &f.Executions.List[i]
		if !f.Has(x.Row, trace.FlagStart) || rows.ExecutionOf(x.Row) != int32(i) {
			continue
		}
		for _, r := range x.Requests {
			of := engine{f.Service(x.Row), rows.Workers[i]}
			served[r] = append(served[r], execution{f.Start(x.Row), f.End(x.Row), of})
		}
	}
	for _, list := range served {
		slices.SortFunc(list, func(a, b execution) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
	}
	type name struct {
		isSpan bool
		name   int32
	}
	all := make(map[name]*HandOver)
	last := make(map[name]int32) // request
	for r := range f.Rows() {
		isSpan := !f.Has(r, trace.FlagOp)
		isPart := f.CountsInSums(r) && f.IsDeviceSide(r)
		if isSpan {
			isPart = r != owner[r] && !f.Has(r, trace.FlagDuplicate) && len(f.Tree.Children(r)) == 0 && !requests.IsWait(f.RowName(r))
		}
		if !isPart || !f.Has(r, trace.FlagStart) {
			continue
		}
		of := name{isSpan, f.Name(r)}
		h := all[of]
		if h == nil {
			h = &HandOver{Name: f.RowName(r), IsSpan: isSpan}
			all[of] = h
			last[of] = trace.NoRow
		}
		h.Calls++
		h.NS += f.Duration(r)
		if f.Has(r, trace.FlagMemory) {
			h.Bytes += f.Memory(r)
		}
		if rows.ExecutionOf(r) == trace.NoExecution {
			h.BetweenNS += between(served[owner[r]], f.Start(r), f.End(r), isSpan)
		}
		if last[of] != owner[r] {
			h.Requests++
			last[of] = owner[r]
		}
	}
	var list []HandOver
	for _, h := range all {
		if h.NS > 0 && 2*h.BetweenNS >= h.NS {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, func(a, b HandOver) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// between returns the part of a time between two executions, or with engines set between those of two engines. A time
// around one of them has none.
func between(list []execution, from, to int64, engines bool) (ns int64) {
	for i := 1; i < len(list); i++ {
		a, b := &list[i-1], &list[i]
		if isAround := from <= a.from || to >= b.to; !isAround && (!engines || a.engine != b.engine) {
			ns += max(0, min(to, b.from)-max(from, a.to))
		}
	}
	return ns
}
