package text

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
)

// price shows what the requests cost.
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
		v.noteIn(units.Duration(p.UnpricedNS)+" on devices that have no price", v.warn)
	}
	t := newTable(texts("by", 0), names("", 0), figures("requests", 3), figures("device time", 2), figures(unit, 0), figures("J", 1),
		figures("tokens", 4), figures(unit+"/1000 tokens", 0), figures("J/1000 tokens", 1))
	add := func(by, name string, c *correlate.Charge) {
		joules := ""
		if c.Joules.Units > 0 {
			joules = c.Joules.String()
		}
		t.add(by, name, nonZero(c.Requests, units.Count), units.Duration(c.DeviceNS), c.Cost.String(), joules,
			nonZero(c.Tokens, units.Count), rate(c.CostPerThousand), rate(c.JoulesPerThousand))
	}
	// group adds the rows of a list, the dearest first, and one for those that are too many.
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
		dearest, _ := largest(v.c.Requests, len(v.c.Requests), "", "", func(r *correlate.Request) int64 { return r.Charge.Cost.Units })
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
	v.note("device time: what operations took, in sum; the rows of tenants, of models, of routes and of requests, each with those of no request, add up to the total")
}

// rate writes a figure of which 0 means that there is none.
func rate(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
