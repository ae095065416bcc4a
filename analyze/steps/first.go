package steps

import (
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
)

// First is a first step slower than the others.
type First struct {
	Row
	// MedianNS is the median time of the Others other steps, AllNS the sum of all times, each to the next start.
	MedianNS, AllNS int64
	Others          int
	// StartNS is the first start of the step, EndNS that of the next.
	StartNS, EndNS int64
}

// FirstOf returns the first step of the loop with the most time, if it takes at least twice the median of at least
// three others, else nil. rows are the result of Rows.
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
	first.StartNS = first.Row.StartNS.V
	first.EndNS = first.StartNS + first.ToNextNS.V
	return first
}

func firstOf(rows []Row) *First {
	const (
		others = 3
		slower = 2
	)
	var walls []int64
	all := int64(0)
	for _, row := range rows {
		if row.ToNextNS.Known {
			walls = append(walls, row.ToNextNS.V)
			all += row.ToNextNS.V
		}
	}
	if len(walls) < others+1 || !rows[0].ToNextNS.Known {
		return nil
	}
	if median := sketch.Median(walls[1:]); walls[0] >= slower*median {
		return &First{Row: rows[0], MedianNS: median, AllNS: all, Others: len(walls) - 1}
	}
	return nil
}
