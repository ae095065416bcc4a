package trace

import "slices"

// rowLink is a link from a row to a span.
type rowLink struct {
	row    int32
	trace  int32 // into Names.Traces
	span   uint64
	weight int64 // noWeight where the link states none
}

const noWeight = -1

// linksOf returns the first of the links of row r and those behind them; the links
// are in the order of their rows.
func linksOf(links []rowLink, r int32) (first int, list []rowLink) {
	compare := func(l rowLink, r int32) int { return int(l.row) - int(r) }
	first, _ = slices.BinarySearchFunc(links, r, compare)
	end, _ := slices.BinarySearchFunc(links, r+1, compare)
	return first, links[first:end]
}
