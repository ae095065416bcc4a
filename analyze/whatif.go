package analyze

import (
	"context"

	"github.com/optrace/optrace/analyze/replay"
)

const whatIfSchema = "optrace.whatif/v1" // names the JSON form of a WhatIf and its major version

// WhatIf is the prediction of a recording with changes.
type WhatIf struct {
	Schema string   `json:"schema"`
	Input  Envelope `json:"input"`
	replay.Result
}

// RunWhatIf reads src and predicts its times with changes, one after the other. It returns a [*replay.UnknownError] for
// a change that selects nothing. The clocks of ranks are aligned by the ends of their collectives. Of opts it uses
// Peaks, Workers and the options for reading.
func RunWhatIf(ctx context.Context, src Source, opts Options, changes ...replay.Change) (*WhatIf, error) {
	opts.KeepForest = true
	opts.AlignClocks = true
	r, err := Run(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	result, err := replay.New(r.Forest).Run(changes...)
	if err != nil {
		return nil, err
	}
	return &WhatIf{whatIfSchema, r.Input, *result}, nil
}
