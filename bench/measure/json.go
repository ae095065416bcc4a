package measure

import (
	"encoding/json"
	"io"
)

// jsonReport is the JSON form of a report.
type jsonReport struct {
	// Ratios has the comparisons with a target, Figures those without.
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

// jsonDetail is what a comparison consists of.
type jsonDetail struct {
	Peer   string      `json:"peer"`
	Ours   string      `json:"ours"`
	Unit   string      `json:"unit"`
	PeerNS float64     `json:"peer_ns"`
	OursNS float64     `json:"ours_ns"`
	Min    float64     `json:"min"`
	Max    float64     `json:"max"`
	Target *float64    `json:"target,omitempty"`
	Met    *bool       `json:"met,omitempty"`
	Allocs *jsonAllocs `json:"allocs,omitempty"`
}

// jsonAllocs is how often both sides allocate.
type jsonAllocs struct {
	Per  string  `json:"per"`
	Peer float64 `json:"peer"`
	Ours float64 `json:"ours"`
	Max  float64 `json:"max"`
	// Extra tells that Max is for what is allocated beyond the peer.
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
		d := jsonDetail{
			Peer: r.Measure.Peer, Ours: r.Measure.Ours, Unit: r.Suite.Unit,
			PeerNS: r.PeerNS, OursNS: r.OursNS, Min: r.Ratio.Min, Max: r.Ratio.Max,
		}
		if a := r.Allocs; a != nil {
			d.Allocs = &jsonAllocs{a.PerName, r.PeerAllocs, r.OursAllocs, a.Max, a.Extra, r.AllocsMet()}
		}
		if r.Target > 0 {
			met := r.Met()
			d.Target, d.Met = &r.Target, &met
			out.Ratios[r.Name] = r.Ratio.Median
		} else {
			out.Figures[r.Name] = r.Ratio.Median
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
