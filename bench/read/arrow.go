package read

import (
	"context"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// arrowMeasures compare an Arrow stream with the entries that it was made from: the
// cost of reading them, and their sizes.
func arrowMeasures() []measure.Measure {
	var cases []measure.Case
	for _, k := range workload.Kinds() {
		cases = append(cases, measure.Case{Data: string(k), Suite: arrowSuite(k), Peer: oursEntries, Ours: oursArrow})
	}
	return []measure.Measure{
		{
			Name: "read_arrow_vs_entries", Target: 6, Cases: cases,
			What: "an Arrow stream, against entries JSONL of the same operations", Limit: limitArrow,
		},
		{
			Name: "entries_bytes_vs_arrow", Target: 7, Cases: cases, Bytes: true,
			What: "the size of entries JSONL, against that of an Arrow stream without compression", Limit: limitArrowBytes,
		},
	}
}

// arrowSuite reads the same operations from both.
func arrowSuite(k workload.Kind) *measure.Suite {
	return &measure.Suite{
		Name: "reading Arrow, " + string(k), Unit: "span", Rounds: 5, QuickRounds: 3,
		Open: func(ctx context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
			sides := map[string]measure.Side{}
			for side, f := range map[string]workload.Format{oursEntries: workload.Entries, oursArrow: workload.Arrow} {
				file, err := fileOf(ctx, env, f, k)
				if err != nil {
					return nil, err
				}
				sides[side] = timing(file, readOurs)
			}
			return &measure.Opened{Sides: sides}, nil
		},
	}
}
