package measure

import (
	"encoding/json"
	"io"
)

// WriteJSON writes the report as one JSON object: the smallest ratios of the
// comparisons, and their rows.
func WriteJSON(w io.Writer, rep *Report, m Machine) error {
	out := struct {
		Ratios  map[string]float64 `json:"ratios"`
		NotRun  []string           `json:"not_run"`
		Reasons map[string]string  `json:"reasons"`
		Details map[string]Row     `json:"details"`
		Values  map[string]float64 `json:"values"`
		// LostDefaultBatch is the share of operations that the SDK's batch processor
		// loses with its default options.
		LostDefaultBatch *float64 `json:"lost_default_batch,omitempty"`
		Machine          Machine  `json:"machine"`
	}{map[string]float64{}, rep.NotRun, rep.Reasons, map[string]Row{}, rep.Values, nil, m}
	for _, r := range rep.Rows {
		out.Details[r.Measure.Name] = r
		out.Ratios[r.Measure.Name] = r.Ratio
	}
	if lost, ok := rep.Values["lost_default_batch"]; ok {
		out.LostDefaultBatch = &lost
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
