package measure

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
)

// interleave runs the sides in turns and returns their samples of each round. The
// order is reversed from round to round, so that no side always comes first. The
// first rounds, warmUp of them, do not count: caches fill. check is called after
// the first.
func interleave(ctx context.Context, warmUp, rounds int, sides map[string]Side, check func() error) (map[string][]Sample, error) {
	order := make([]string, 0, len(sides))
	for name := range sides {
		order = append(order, name)
	}
	slices.Sort(order)
	samples := make(map[string][]Sample, len(sides))
	sum, summedBy := "", ""
	for round := range warmUp + rounds {
		for _, name := range order {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			s, err := labelled(ctx, name, sides[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case s.Sum == "":
			case summedBy == "":
				sum, summedBy = s.Sum, name
			case s.Sum != sum:
				return nil, fmt.Errorf("%s comes to %s, but %s to %s", name, s.Sum, summedBy, sum)
			}
			if round >= warmUp {
				samples[name] = append(samples[name], s)
			}
		}
		if round == 0 && check != nil {
			if err := check(); err != nil {
				return nil, err
			}
		}
		slices.Reverse(order)
	}
	return samples, nil
}

// labelled runs a side under its name, by which a CPU profile tells the sides
// apart.
func labelled(ctx context.Context, name string, side Side) (s Sample, err error) {
	pprof.Do(ctx, pprof.Labels("side", name), func(ctx context.Context) { s, err = side(ctx) })
	return s, err
}
