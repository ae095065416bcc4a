package correlate_test

import (
	"regexp"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func joined(records []op.Record) *correlate.Join {
	j := correlate.NewJoin()
	for _, rec := range records {
		j.AddLocal(rec)
	}
	return j
}

func TestTheLongPromptIsTheFirstCulprit(t *testing.T) {
	records, _ := causes.Serve("long_prompt", causes.Server, 0.3, 1)
	r := joined(records).Report(correlate.Options{})
	c := r.Culprits[0]
	check.Equal(t, "reason", "prompt", string(c.Longest.Reason))
	check.Equal(t, "tokens", int64(30_000), c.Longest.Tokens)
	sentence := regexp.MustCompile(`^POST /generate …[0-9a-f]{4} waited \d+ ms behind the prompt of …003d \(30,000 tokens\)\.$`)
	if !sentence.MatchString(c.Longest.Text) {
		t.Error(c.Longest.Text)
	}
	waited := make(map[op.TraceID]int64)
	for _, b := range r.Blame {
		waited[b.Victim.TraceID] += b.NS
		if b.LowNS > b.NS || b.NS > b.HighNS {
			t.Errorf("%s [%d, %d]", b.Text, b.LowNS, b.HighNS)
		}
	}
	for _, q := range r.Requests {
		if ns, ok := waited[q.TraceID]; ok && (ns < 0 || ns > q.DurationNS.V) {
			t.Errorf("%s waited %d of %d ns", q.TraceID, ns, q.DurationNS.V)
		}
	}
}
