package correlate_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Without its links a server has the same shares of requests and the same culprits, by the counts of its steps.
func TestCountsTellWhoDelayedWhom(t *testing.T) {
	records, _ := causes.Serve("long_prompt", causes.ServerMixed, 0.2, 2, -1)
	in := make(map[op.TraceID]int64)
	out := make(map[op.TraceID]int64)
	for _, rec := range records {
		s := rec.Span
		if s == nil {
			continue
		}
		var prompts, tokens, decodes int64
		for _, l := range s.Links {
			if out[l.TraceID]++; in[l.TraceID] > 0 {
				decodes++
				continue
			}
			in[l.TraceID] = l.Weight.V
			tokens += l.Weight.V
			prompts++
		}
		if s.Links != nil {
			s.Name = fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", prompts, tokens, decodes, decodes)
		}
	}
	report := func(linked bool) *correlate.Report {
		join := correlate.NewJoin()
		join.KeepAttrs()
		for _, rec := range records {
			if rec.Span != nil {
				s := *rec.Span
				if rec.Span = &s; !linked {
					s.Links = nil
				}
				for key, n := range map[string]int64{
					"gen_ai.usage.input_tokens": in[s.TraceID], "gen_ai.usage.output_tokens": out[s.TraceID],
				} {
					if n > 0 {
						s.Attrs = append(s.Attrs, op.Attr{Key: key, Value: strconv.FormatInt(n, 10)})
					}
				}
			}
			join.AddLocal(rec)
		}
		return join.Report(correlate.Options{})
	}
	want, got := report(true), report(false)
	n := int64(len(want.Shared))
	check.Equal(t, "composed", &engines.Composition{Steps: n, Told: n, Engines: 1}, got.Composed)
	check.Equal(t, "links", true, want.Composed == nil && len(want.Culprits) > 0)
	check.Equal(t, "blame", want.Blame, got.Blame)
	check.Equal(t, "culprits", want.Culprits, got.Culprits)
	for i := range want.Requests {
		const rounded = 1_000 // whole ns, in another order of links
		if d := want.Requests[i].SharedNS - got.Requests[i].SharedNS; max(d, -d) > rounded {
			t.Errorf("the share of request %d is %d ns off", i, d)
		}
	}
}
