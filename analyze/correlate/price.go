package correlate

import (
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/op"
)

// Price is the cost of the devices' time. The charges of the requests, and of the rows of each list, add up with Rest
// to Total, to the last digit.
type Price struct {
	// Currency is the currency of the price file.
	Currency string         `json:"currency"`
	Devices  []price.Device `json:"devices"`
	// UnpricedNS is the time on devices without a price.
	UnpricedNS int64  `json:"unpriced_ns"`
	Total      Charge `json:"total"`
	// Rest is the cost of operations without a request, of dropped links, and of requests left out.
	Rest Charge `json:"rest"`
	// The lists sum up the requests by attribute, the largest first: Tenants by the attribute named in the price file,
	// Models by gen_ai.request.model, Routes by http.route or else the name. A list is empty if no request has its
	// attribute.
	Tenants []Charge `json:"tenants"`
	Models  []Charge `json:"models"`
	Routes  []Charge `json:"routes"`
}

// Charge is the price of busy time of devices.
type Charge struct {
	// Name is the value of the attribute, "" for requests without it.
	Name     string `json:"name,omitzero"`
	Requests int64  `json:"requests,omitzero"`
	// DeviceNS is the time of devices, in nanoseconds. Concurrent operations on one device share its time.
	DeviceNS int64  `json:"device_ns"`
	Cost     Amount `json:"cost"`
	Joules   Amount `json:"joules,omitzero"`
	// SavedNS and SavedCost are the device time and cost saved without the request: the time of devices working for it
	// alone, and for an engine with reconstructed batches the time saved in a replay without it. Savings of requests do
	// not add up to the cost. Both are unknown for sums, and for the smallest requests of an engine with very many.
	SavedNS   op.Int  `json:"saved_device_ns,omitzero"`
	SavedCost *Amount `json:"saved_cost,omitempty"`
	// Tokens is the number of tokens read and written, as far as requests state it. The costs per thousand tokens cover
	// only these requests. They are 0 if no request states tokens.
	Tokens            int64   `json:"tokens,omitzero"`
	CostPerThousand   float64 `json:"cost_per_1000_tokens,omitzero"`
	JoulesPerThousand float64 `json:"joules_per_1000_tokens,omitzero"`

	saved         spending
	exact, stated spending // of all requests, and of requests with tokens
}

type spending struct{ money, energy float64 }

func (s *spending) add(o spending, times float64) {
	s.money += o.money * times
	s.energy += o.energy * times
}

// Amount is a decimal number.
type Amount struct {
	// Units counts the last digit, Digits is the number of digits after the point.
	Units  int64
	Digits int
}

// String returns the number with all its digits.
func (a Amount) String() string {
	if a.Units < 0 {
		return "-" + Amount{-a.Units, a.Digits}.String()
	}
	text := fmt.Sprintf("%0*d", a.Digits+1, a.Units)
	if a.Digits == 0 {
		return text
	}
	point := len(text) - a.Digits
	return text[:point] + "." + text[point:]
}

// MarshalJSON returns the number.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(a.String())) }

// Add adds a charge of the same report.
func (c *Charge) Add(o *Charge) {
	c.Requests += o.Requests
	c.DeviceNS += o.DeviceNS
	c.Cost = Amount{c.Cost.Units + o.Cost.Units, o.Cost.Digits}
	c.Joules = Amount{c.Joules.Units + o.Joules.Units, o.Joules.Digits}
	c.Tokens += o.Tokens
	c.stated.add(o.stated, 1)
	c.perThousand()
}

func (c *Charge) perThousand() {
	if c.Tokens > 0 {
		c.CostPerThousand = c.stated.money / float64(c.Tokens) * 1000
		c.JoulesPerThousand = c.stated.energy / float64(c.Tokens) * 1000
	}
}
