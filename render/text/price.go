package text

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

func (v *correlation) price() {
	p := v.c.Price
	if p == nil {
		return
	}
	currency := termtext.Clean(p.Currency)
	unit := cmp.Or(currency, "cost")
	v.heading("PRICE")
	for i := range p.Devices {
		d := &p.Devices[i]
		text := fmt.Sprintf("%s: %g %s an hour", cmp.Or(d.Match, "*"), d.PerHour, currency)
		if d.Watts > 0 {
			text += fmt.Sprintf(", %g W", d.Watts)
		}
		v.note(termtext.Clean(text))
	}
	if p.UnpricedNS > 0 {
		v.styledNote(warn, units.Duration(p.UnpricedNS)+" on devices that have no price")
	}
	t := newTable("by:t|:n|requests:3|device time:2|cost|saved without it:3|J:1|tokens:4|cost/1000 tokens|J/1000 tokens:1")
	t.columns[4].head = unit
	t.columns[8].head = unit + "/1000 tokens"
	add := func(by, name string, c *correlate.Charge) {
		saved := "" // for sums
		if c.SavedCost != nil && c.Requests == 1 {
			saved = c.SavedCost.String()
		}
		t.add(by, name, nonZero(c.Requests, units.Count), units.Duration(c.DeviceNS), c.Cost.String(), saved,
			ifAny(c.Joules.Units, c.Joules.String()),
			nonZero(c.Tokens, units.Count), rate(c.CostPerThousand), rate(c.JoulesPerThousand))
	}
	// group adds the rows of a list, most expensive first, and one row for the rest.
	group := func(by string, rows []correlate.Charge, most int) {
		var others correlate.Charge
		for i := range rows {
			if i < most {
				add(by, cmp.Or(rows[i].Name, "(none)"), &rows[i])
			} else {
				others.Add(&rows[i])
			}
		}
		if others.Requests > 0 {
			add(by, "(others)", &others)
		}
	}
	group("tenant", p.Tenants, v.Rows)
	group("model", p.Models, v.Rows)
	group("route", p.Routes, v.Rows)
	if v.Top > 0 {
		dearest, _ := largest(v.c.Requests, len(v.c.Requests), "", "", func(r *correlate.Request) int64 {
			return r.Charge.Cost.Units
		})
		charges := make([]correlate.Charge, len(dearest))
		for i, r := range dearest {
			charges[i] = *r.Charge
			charges[i].Name = r.Root + " " + idText(r.TraceID)
		}
		group("request", charges, v.Top)
	}
	if p.Rest.DeviceNS > 0 {
		add("", "(no request)", &p.Rest)
	}
	add("total", "", &p.Total)
	v.first(t, len(t.rows), 0) // each list has its bound
	v.note("device time: operations that run at once on one device share its time; the rows of tenants, " +
		"of models, of routes and of requests, each with those of no request, add up to the total; saved without it: how much " +
		"less the devices cost in a replay without the request")
}

func rate(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
