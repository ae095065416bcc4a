package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suite. All record the same operation: matmul on cuda:0 in
// f32, from two inputs to one output.
const (
	sdkSpan      = "SDK span"
	prepared     = "prepared op"
	dynamic      = "dynamic op"
	newShapes    = "dynamic op, every shape new"
	recorder     = "Recorder"
	recorderPrep = "Recorder, prepared"
	recorderAll  = "Recorder with encoding"
)

// Suite returns the suite and what is compared in it.
func Suite() []measure.Measure {
	s := &measure.Suite{Name: "recording", Unit: "op", Rounds: 101, QuickRounds: 61, Open: open}
	of := func(name string, target float64, ours, what string, allocs *measure.AllocTarget) measure.Measure {
		return measure.Measure{Name: name, Target: target, Cases: measure.Compare(s, sdkSpan, ours), What: what, Allocs: allocs}
	}
	none := func(extra bool) *measure.AllocTarget {
		return &measure.AllocTarget{Per: 1, PerName: "op", Extra: extra}
	}
	fresh := of("start_end_new_shapes_vs_sdk", 0, newShapes, "a dynamic op none of whose shapes was seen before", nil)
	fresh.LongOnly = true
	return []measure.Measure{
		of("start_end_vs_sdk", 0.95, prepared, "Start and End of a prepared op", none(true)),
		of("start_end_dynamic_vs_sdk", 0.87, dynamic, "the same, shapes known at run time only", nil),
		of("recorder_vs_sdk", 10, recorder, "Recorder Begin, DType, In, In, Out and End, nothing emitted", none(false)),
		of("recorder_total_vs_sdk", 3, recorderAll, "the same with conversion and encoding to entries", nil),
		of("recorder_prepared_vs_sdk", 0, recorderPrep, "Recorder BeginPrepared, back to back", nil),
		fresh,
	}
}

// opsPerRound is how often a side records the operation in a round.
const opsPerRound = 10_000

func open(_ context.Context, _ *measure.Env, _ measure.Want) (*measure.Opened, error) {
	w, err := newWork()
	if err != nil {
		return nil, fmt.Errorf("making the providers: %w", err)
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{
			sdkSpan:      timed(w.sdkSpans),
			prepared:     timed(w.preparedOps),
			dynamic:      timed(w.dynamicOps),
			newShapes:    timed(w.newShapes),
			recorder:     timed(w.recorded),
			recorderPrep: timed(w.recordedPrepared),
			recorderAll:  timed(w.recordedAndEncoded),
		},
		After: func(context.Context) (map[string]float64, error) { return nil, w.lossless() },
		Close: func() error { return errors.Join(w.close()...) },
	}, nil
}

// timed makes a side of work that records n operations.
func timed(work func(n int) error) measure.Side {
	return func(context.Context) (measure.Sample, error) {
		return measure.Timed(opsPerRound, func() error { return work(opsPerRound) })
	}
}
