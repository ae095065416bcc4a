package measure

import (
	"encoding/json"
	"io"
)

// jsonReport is the JSON form of a report.
type jsonReport struct {
	// Ratios has the comparisons with a target, Figures those without, each with its
	// smallest ratio.
	Ratios  map[string]float64 `json:"ratios"`
	NotRun  []string           `json:"not_run"`
	Reasons map[string]string  `json:"reasons"`
	Figures map[string]float64 `json:"figures"`
	// Details has both.
	Details map[string]jsonDetail `json:"details"`
	Values  map[string]float64    `json:"values"`
	// LostDefaultBatch is the share of operations that the SDK's batch processor
	// loses with its default options.
	LostDefaultBatch *float64 `json:"lost_default_batch,omitempty"`
	Machine          Machine  `json:"machine"`
}

// jsonDetail is a comparison: the figures of its worst case, and all cases by the
// kind of data.
type jsonDetail struct {
	Data string `json:"data,omitempty"`
	jsonCase
	Unit   string              `json:"unit"`
	Target *float64            `json:"target,omitempty"`
	Met    *bool               `json:"met,omitempty"`
	Allocs *jsonAllocs         `json:"allocs,omitempty"`
	Cases  map[string]jsonCase `json:"cases,omitempty"`
}

// jsonCase is a comparison on one kind of data.
type jsonCase struct {
	Peer   string  `json:"peer"`
	Ours   string  `json:"ours"`
	Ratio  float64 `json:"ratio"`
	PeerNS float64 `json:"peer_ns"`
	OursNS float64 `json:"ours_ns"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func newJSONCase(c CaseResult) jsonCase {
	return jsonCase{c.Peer, c.Ours, c.Ratio.Median, c.PeerNS, c.OursNS, c.Ratio.Min, c.Ratio.Max}
}

// jsonAllocs is how often both sides allocate.
type jsonAllocs struct {
	Per  string  `json:"per"`
	Peer float64 `json:"peer"`
	Ours float64 `json:"ours"`
	Max  float64 `json:"max"`
	// Extra makes Max the bound of the allocations beyond the peer's.
	Extra bool `json:"extra"`
	Met   bool `json:"met"`
}

// WriteJSON writes the report as one JSON object.
func WriteJSON(w io.Writer, rep *Report, m Machine) error {
	out := jsonReport{
		Ratios: map[string]float64{}, NotRun: rep.NotRun, Reasons: rep.Reasons, Figures: map[string]float64{},
		Details: map[string]jsonDetail{}, Values: rep.Values, Machine: m,
	}
	for _, r := range rep.Results {
		worst := r.Worst()
		d := jsonDetail{Data: worst.Data, jsonCase: newJSONCase(worst), Unit: worst.Suite.Unit}
		if len(r.Cases) > 1 {
			d.Cases = map[string]jsonCase{}
			for _, c := range r.Cases {
				d.Cases[c.Data] = newJSONCase(c)
			}
		}
		if a := r.Allocs; a != nil {
			c := r.MostAllocs()
			d.Allocs = &jsonAllocs{a.PerName, c.PeerAllocs, c.OursAllocs, a.Max, a.Extra, r.AllocsMet()}
		}
		if r.Target > 0 {
			met := r.Met()
			d.Target, d.Met = &r.Target, &met
			out.Ratios[r.Name] = d.Ratio
		} else {
			out.Figures[r.Name] = d.Ratio
		}
		out.Details[r.Name] = d
	}
	if lost, ok := rep.Values["lost_default_batch"]; ok {
		out.LostDefaultBatch = &lost
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
