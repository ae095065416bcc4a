package steps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// trained returns spans of steps of 10 ms on two ranks, a trace each. The work of a step ends 2 ms after its span.
// name and attribute may have a verb for the number of the step.
func trained(name, attribute string, count int) string {
	var b strings.Builder
	for rank := range 2 {
		var spans []string
		add := func(id, parent, at, end int, name, attribute string) {
			spans = append(spans, fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","parentSpanId":"%016x","name":"%s",`+
				`"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}`,
				1+rank, id, parent, name, 1e18+at*1e6, 1e18+end*1e6, attribute))
		}
		add(1, 0, 0, 1000, "megatron.train", "")
		for n := range count {
			at := 10 * n
			numbered := func(text string) string {
				if strings.Contains(text, "%d") {
					return fmt.Sprintf(text, 7+n)
				}
				return text
			}
			add(100+n, 1, at, at+7, numbered(name), numbered(attribute))
			add(200+n, 100+n, at, at+3, "megatron.forward_backward", "")
			add(300+n, 200+n, at, at+5, "megatron.microbatch.forward", "")
			add(400+n, 100+n, at+5, at+9, "megatron.optimizer_step", "")
		}
		fmt.Fprintf(&b, `{"resourceSpans":[{"resource":{"attributes":[{"key":"nv.dl.rank","value":{"intValue":"%d"}}]},`+
			`"scopeSpans":[{"spans":[%s]}]}]}`+"\n", rank, strings.Join(spans, ","))
	}
	return b.String()
}

// The span around the work of a step is the step, by its name with a number in the name, in an attribute, or in the
// order of time.
func TestStepsOfSpans(t *testing.T) {
	attribute := func(key string) string { return `{"key":"` + key + `","value":{"intValue":"%d"}}` }
	for _, c := range []struct {
		name, attribute string
		first           int64
		want            bool
		source          string
	}{
		{"megatron.train_step", attribute("megatron.iteration"), 7, true, steps.SourceAnnotation},
		{"train_step", attribute("iteration"), 7, true, steps.SourceAnnotation},
		{"training_step", attribute("global_step"), 7, true, steps.SourceAnnotation},
		{"megatron.train_step", "", 0, true, steps.SourceAnnotation},
		{"train_step %d", "", 7, true, steps.SourceAnnotation},
		{"update", attribute("tensor.step"), 7, true, steps.SourceRange},
		{"update", attribute("iteration"), 0, false, ""},
	} {
		for _, count := range []int{1, 3} {
			f := trace.New()
			for rec, err := range otlp.JSONRecords(strings.NewReader(trained(c.name, c.attribute, count)), "spans", nil) {
				check.OK(t, err)
				f.Add(rec)
			}
			type row struct {
				Step, Operations int64
				Wall             op.Int
				Source           string
			}
			var got, want []row
			for _, r := range steps.Rows(f) {
				got = append(got, row{r.Step, r.Count, r.WallNS, r.Source})
			}
			for n := range count {
				if c.want {
					want = append(want, row{c.first + int64(n), 4, op.Known(int64(9e6)), c.source})
				}
			}
			check.Equal(t, fmt.Sprint(c.name, " ", c.attribute, " ", count), want, got)
		}
	}
}
