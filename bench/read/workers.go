package read

import (
	"context"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/bench/internal/data"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// oursTwice is a side: two workers.
const oursTwice = "optrace, two workers"

func readOursTwice(path string) (*analyze.Report, error) { return readWith(2, path) }

// workers returns what two workers are worth: the time that passes while a file
// of each format is read, one after the other.
func workers() []measure.Measure {
	const ops = 1_000_000
	s := &measure.Suite{Name: "workers", Unit: "span", Cold: true, Rounds: 7, QuickRounds: 4,
		Open: func(_ context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
			sides, err := workerSides(env, env.Size(ops, quickOps))
			return &measure.Opened{Sides: sides}, err
		}}
	return []measure.Measure{{Name: "workers_2_vs_1", Target: 1.5, Cases: measure.Compare(s, ours, oursTwice), Wall: true,
		What: "two workers against one, all three formats"}}
}

func workerSides(env *measure.Env, ops int) (map[string]measure.Side, error) {
	formats := []workload.Format{workload.OTLPJSON, workload.OTLPProto, workload.Entries}
	one, two := make([]measure.Side, len(formats)), make([]measure.Side, len(formats))
	for i, f := range formats {
		file, err := data.Get(env, f, workload.Config{Ops: ops, Mix: workload.G512})
		if err != nil {
			return nil, err
		}
		one[i], two[i] = summed(file, readOurs), summed(file, readOursTwice)
	}
	return map[string]measure.Side{ours: inTurn(one), oursTwice: inTurn(two)}, nil
}

// summed is a side that reads the file and states what it came to.
func summed(file data.File, read reader) measure.Side {
	var sum string
	side := timing(file, read, &sum)
	return func(ctx context.Context) (measure.Sample, error) {
		s, err := side(ctx)
		s.Sum = sum
		return s, err
	}
}

// inTurn is a side that runs others one after the other.
func inTurn(sides []measure.Side) measure.Side {
	return func(ctx context.Context) (measure.Sample, error) {
		var total measure.Sample
		var sums []string
		for _, side := range sides {
			s, err := side(ctx)
			if err != nil {
				return total, err
			}
			total.N += s.N
			total.CPU += s.CPU
			total.Wall += s.Wall
			total.Allocs += s.Allocs
			sums = append(sums, s.Sum)
		}
		total.Sum = strings.Join(sums, "; ")
		return total, nil
	}
}
