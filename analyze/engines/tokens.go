package engines

import (
	"slices"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
)

// Tokens returns the weights of requests in the shared executions of f if links have no weights: the tokens of the prompt
// in the first executions of a request, and one in each other. A request has one execution for each written token, and
// further ones for a prompt in parts. One that states no written tokens has one execution. Of an engine that may write
// several tokens in an execution, the first one reads the prompt. Tokens returns nil if links have weights, or if the
// numbers of executions do not match the tokens stated by requests.
func Tokens(f *trace.Forest) [][]int64 {
	list := f.Executions.List
	if len(list) == 0 || slices.ContainsFunc(list, func(x trace.Execution) bool { return x.Weights != nil }) {
		return nil
	}
	type tokens struct{ in, out, executions, done int64 }
	of := make(map[int32]*tokens)
	owner := f.RequestOwners()
	for q := range Find(f, nil, key.Filter{}).All {
		if r := owner[q.Node.Row]; q.TokensIn.V > q.Cached.V {
			of[r] = &tokens{in: q.TokensIn.V - q.Cached.V, out: q.TokensOut.V}
		}
	}
	var order []int
	served := make(map[int32]*tokens)
	for i := range list {
		order = append(order, i)
		for _, r := range list[i].Requests {
			t := of[r]
			for above, n := r, 0; t == nil && int(above) < f.Len() && n < maxAbove; n++ { // a gateway may state them
				if above = f.Tree.Parent[above]; above == trace.NoRow {
					return nil
				}
				t = of[owner[above]]
			}
			if t == nil {
				return nil
			}
			served[r] = t
			t.executions++
		}
	}
	more := int64(1) << 62
	least := more
	for _, t := range served {
		if t.out == 0 { // such as an embedding
			if t.executions > 1 {
				return nil
			}
			t.out = 1
		}
		more = min(more, t.executions-t.out)
		least = min(least, t.executions)
	}
	isSeveral := more < 0 && least > 1
	if more != 0 && more != 1 && !isSeveral { // the first token comes with the prompt, or a step after it
		return nil
	}
	slices.SortFunc(order, func(a, b int) int { return f.CompareStart(list[a].Row, list[b].Row) })
	weights := make([][]int64, len(list))
	for _, i := range order {
		for _, r := range list[i].Requests {
			t := served[r]
			w := int64(1)
			parts := int64(1)
			if !isSeveral {
				parts = t.executions - t.out - more + 1
			}
			if t.done < parts {
				w = max(1, t.in*(t.done+1)/parts-t.in*t.done/parts)
			}
			t.done++
			weights[i] = append(weights[i], w)
		}
	}
	return weights
}
