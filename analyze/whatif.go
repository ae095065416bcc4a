package analyze

import (
	"context"
	"errors"
	"slices"

	"github.com/optrace/optrace/analyze/replay"
)

// ErrNoPeaks is the error of RunWhatIf for a [replay.Roofline] of devices whose peaks are not known.
var ErrNoPeaks = errors.New("no peaks of the devices are known")

const whatIfSchema = "optrace.whatif/v1" // names the JSON form of a WhatIf and its major version

// WhatIf is the prediction of a recording with changes.
type WhatIf struct {
	Schema string   `json:"schema"`
	Input  Envelope `json:"input"`
	replay.Result
}

// RunWhatIf reads src and predicts its times with changes, one after the other. It returns a [*replay.UnknownError] for
// a change that selects nothing, and [ErrNoPeaks]. The clocks of ranks are aligned by the ends of their collectives. Of opts it uses
// Peaks, Workers and the options for reading.
func RunWhatIf(ctx context.Context, src Source, opts Options, changes ...replay.Change) (*WhatIf, error) {
	opts.KeepForest = true
	opts.AlignClocks = true
	r, err := Run(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	isRoofline := func(c replay.Change) bool { return c.Kind == replay.Roofline }
	hasBound := func(row int32) bool { return r.Forest.Work(row).Bound != 0 }
	if slices.ContainsFunc(changes, isRoofline) && !slices.ContainsFunc(r.Forest.Devices.ByStart, hasBound) {
		return nil, ErrNoPeaks
	}
	result, err := replay.New(r.Forest).Run(changes...)
	if err != nil {
		return nil, err
	}
	return &WhatIf{whatIfSchema, r.Input, *result}, nil
}
