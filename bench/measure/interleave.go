package measure

import (
	"context"
	"fmt"
	"slices"
)

// interleave runs the sides in turns and returns their samples of each round. The
// order is reversed from round to round, so that no side always comes first. The
// first round does not count: caches fill, and check is called after it.
func interleave(ctx context.Context, rounds int, sides map[string]Side, check func() error) (map[string][]Sample, error) {
	order := make([]string, 0, len(sides))
	for name := range sides {
		order = append(order, name)
	}
	slices.Sort(order)
	samples := make(map[string][]Sample, len(sides))
	sum, summedBy := "", ""
	for round := range rounds + 1 {
		for _, name := range order {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			s, err := sides[name](ctx)
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
			if round > 0 {
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
