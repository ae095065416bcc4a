package steps

import (
	"math"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
)

// First is a first step slower than the others.
type First struct {
	Row
	// MedianNS is the median time of the Others other steps, AllNS the sum of all times, each to the next start.
	MedianNS, AllNS int64
	Others          int
	// ExtraNS is its lead minus the least lead of the others, a part of ToNextNS. StartNS is the start of the extra time,
	// EndNS the first start of the next step.
	ExtraNS, StartNS, EndNS int64
}

// FirstOf returns the first step of the loop with the most time, if it takes at least 1.5 times the median of at
// least three others, else nil. rows are the result of Rows.
func FirstOf(rows []Row) *First {
	var first *First
	for loop := range order.RunsOf(rows, serviceOf) {
		if of := firstOf(loop); of != nil && (first == nil || of.AllNS > first.AllNS) {
			first = of
		}
	}
	if first == nil {
		return nil
	}
	first.StartNS = first.Row.StartNS.V - first.ExtraNS
	first.EndNS = first.StartNS + first.ToNextNS.V
	return first
}

func firstOf(rows []Row) *First {
	const (
		others = 3
		slower = 1.5
	)
	var walls []int64
	all := int64(0)
	lead := int64(math.MaxInt64)
	for i, row := range rows {
		if row.ToNextNS.Known {
			walls = append(walls, row.ToNextNS.V)
			all += row.ToNextNS.V
		}
		if i > 0 {
			lead = min(lead, row.LeadNS)
		}
	}
	if len(walls) < others+1 || !rows[0].ToNextNS.Known {
		return nil
	}
	first := &First{Row: rows[0], MedianNS: sketch.Median(walls[1:]), AllNS: all, Others: len(walls) - 1}
	first.ExtraNS = max(0, rows[0].LeadNS-lead)
	if first.ToNextNS.V += first.ExtraNS; float64(first.ToNextNS.V) >= slower*float64(first.MedianNS) {
		return first
	}
	return nil
}
