package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
)

// schedule returns the spans of Megatron-LM's 1F1B schedule of p ranks and m microbatches, in several steps. Forward
// passes take forward and backward ones backward, of rank slow twice as long.
func schedule(p, m, slow int, forward, backward int64) string {
	const steps = 2
	ends := make(map[string]int64) // of a pass: rank, direction, microbatch
	at := make([]int64, p)
	var b strings.Builder
	for n := range steps {
		start := slices.Max(at)
		spans := make([][]string, p)
		// Each rank runs its passes in order; a pass waits for that of its neighbor.
		next := make([]int, p)
		order := make([][]string, p)
		for r := range p {
			at[r] = start
			warm := min(m, p-r-1)
			for i := range warm {
				order[r] = append(order[r], fmt.Sprint("forward ", i))
			}
			for i := range m {
				if i+warm < m {
					order[r] = append(order[r], fmt.Sprint("forward ", i+warm))
				}
				order[r] = append(order[r], fmt.Sprint("backward ", i))
			}
		}
		for done := false; !done; {
			done = true
			for r := range p {
				if next[r] == len(order[r]) {
					continue
				}
				done = false
				pass := order[r][next[r]]
				direction, _, _ := strings.Cut(pass, " ")
				from, d := r-1, forward
				if direction == "backward" {
					from, d = r+1, backward
				}
				ready := at[r]
				if from >= 0 && from < p {
					end, ok := ends[fmt.Sprint(n, from, " ", pass)]
					if !ok {
						continue
					}
					ready = max(ready, end)
				}
				if r == slow {
					d *= 2
				}
				at[r] = ready + d
				ends[fmt.Sprint(n, r, " ", pass)] = at[r]
				next[r]++
				spans[r] = append(spans[r], fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","parentSpanId":"%016x",`+
					`"name":"megatron.microbatch.%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`,
					1+r, 1+1000*n+10*next[r], 900_000+n, direction, 1_000_000+ready, 1_000_000+at[r]))
			}
		}
		for r := range p {
			fmt.Fprintf(&b, `{"resourceSpans":[{"resource":{"attributes":[{"key":"nv.dl.rank","value":{"intValue":"%d"}},`+
				`{"key":"nv.dl.world_size","value":{"intValue":"%d"}}]},"scopeSpans":[{"spans":[%s,`+
				`{"traceId":"%032x","spanId":"%016x",`+
				`"name":"megatron.forward_backward","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`+"\n", r, p,
				strings.Join(spans[r], ","), 1+r, 900_000+n, 1_000_000+start, 1_000_000+at[r])
		}
	}
	return b.String()
}

// The bubble of p ranks with m microbatches is (p-1)/(m+p-1).
func TestBubbleOfAPipeline(t *testing.T) {
	for _, m := range []int64{1, 8, 20} {
		const p = 8
		f := trace.New()
		for rec, err := range otlp.JSONRecords(strings.NewReader(schedule(p, int(m), -1, 1000, 2000)), "spans", nil) {
			check.OK(t, err)
			f.Add(rec)
		}
		all := 2 * p * (m + p - 1) * 3000
		check.Equal(t, fmt.Sprint(m, " microbatches"), &steps.Pipeline{Ranks: p, Steps: 2,
			Microbatches: 2 * p * m, RankNS: all,
			BubbleNS: 2 * p * (p - 1) * 3000, Bubble: float64(2*p*(p-1)*3000) / float64(all)}, steps.PipelineOf(f))
	}
}
