package text

import (
	"fmt"
	"strconv"

	"github.com/optrace/optrace/internal/units"
)

// clocks shows how far the clocks of ranks are apart, if that was asked for.
func (v *view) clocks() {
	c := v.r.Clocks
	if c == nil {
		return
	}
	v.heading("CLOCKS")
	if len(c.Offsets) == 0 {
		v.note(fmt.Sprintf("not compared: no two ranks have %d collectives in common that end for all at once, with their starts",
			c.MinCollectives))
		return
	}
	v.note(fmt.Sprintf("times are those of rank %d; entries that are listed are as recorded", *c.Reference))
	t := newTable(names("rank", 0), figures("ahead by", 0), figures("by collectives", 0), names("with rank", 0),
		figures("residual", 0), figures("at most", 0), figures("drift", 1))
	for _, o := range c.Offsets {
		if !o.Via.Known {
			continue
		}
		t.add(decimal(o.Rank), units.Duration(o.OffsetNS), units.Count(o.Collectives), o.Via.String(),
			knownDuration(o.ResidualMedianNS), knownDuration(o.ResidualMaxNS), knownFloat(o.DriftNSPerS, drift))
	}
	v.table(t)
	v.note("residual: how far apart collectives end after the correction, in the median and at most; " +
		"drift: what the clock gains on the other one")
	if c.Inferred {
		v.note("collectives have no sequence numbers and were matched by their order")
	}
	switch n := len(c.Unknown); n {
	case 0:
	case 1:
		v.note(fmt.Sprintf("1 rank, %d, has less than %d collectives in common with others: its times are as recorded",
			c.Unknown[0].Rank, c.MinCollectives))
	default:
		v.note(fmt.Sprintf("%s ranks, such as %d, have less than %d collectives in common with others: their times are as recorded",
			units.Count(int64(n)), c.Unknown[0].Rank, c.MinCollectives))
	}
	skews := newTable(names("collective", 0), names("group", 4), figures("recorded start skew", 2), figures("start skew", 0),
		figures("recorded end skew", 1), figures("end skew", 0))
	for _, s := range c.Collectives {
		skews.add(s.Name, s.Group, units.Duration(s.RecordedMaxStartSkewNS), units.Duration(s.MaxStartSkewNS),
			units.Duration(s.RecordedMaxEndSkewNS), units.Duration(s.MaxEndSkewNS))
	}
	v.table(skews)
	if c.WallNS.Known {
		v.note(fmt.Sprintf("from the first start to the last end: %s, as recorded %s",
			knownDuration(c.WallNS), knownDuration(c.RecordedWallNS)))
	}
}

// drift is nanoseconds in a second, which are a thousandth of parts per million.
func drift(perSecond float64) string { return strconv.FormatFloat(perSecond/1000, 'f', 3, 64) + " ppm" }
