package replay

import (
	"fmt"

	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// describe completes the parties and writes the sentences, such as
//
//	POST /generate f2a1… waited 312 ms behind the prompt of 7c0d… (4,096 tokens).
func (b *Blames) describe(f *trace.Forest) {
	var parties []*Party
	var delays []*Blame
	for i := range b.Rows {
		delays = append(delays, &b.Rows[i])
	}
	for i := range b.Culprits {
		delays = append(delays, &b.Culprits[i].Longest)
		parties = append(parties, &b.Culprits[i].Party)
	}
	for _, d := range delays {
		parties = append(parties, &d.Victim)
		if d.Culprit != nil && d.Culprit.Step == "" {
			parties = append(parties, d.Culprit)
		}
	}
	for _, p := range parties {
		n := f.Node(p.Row)
		p.TraceID = n.TraceID()
		p.RootSpanID = n.SpanID()
	}
	short := shortest(parties)
	for _, p := range parties {
		p.Name = requests.NameInText(f.RowName(p.Row)) + " " + short(p.TraceID)
	}
	for _, d := range delays {
		d.Behind = d.behind(short)
		d.Text = fmt.Sprintf("%s waited %s behind %s.", d.Victim.Name, units.Duration(d.NS), d.Behind)
	}
}

// shortest returns a function for the first digits of a trace id, or else the last ones, enough to tell parties apart.
func shortest(parties []*Party) func(op.TraceID) string {
	for digits := 4; digits <= 8; digits += 2 {
		for _, short := range []func(op.TraceID) string{
			func(id op.TraceID) string { return id.String()[:digits] + "…" },
			func(id op.TraceID) string { return "…" + id.String()[2*len(id)-digits:] },
		} {
			if distinct(parties, short) {
				return short
			}
		}
	}
	return op.TraceID.String
}

func distinct(parties []*Party, short func(op.TraceID) string) bool {
	seen := make(map[string]op.TraceID)
	for _, p := range parties {
		text := short(p.TraceID)
		if other, known := seen[text]; known && other != p.TraceID {
			return false
		}
		seen[text] = p.TraceID
	}
	return true
}

// behind names the culprit, such as "the prompt of 7c0d… (4,096 tokens)".
func (b *Blame) behind(short func(op.TraceID) string) string {
	switch {
	case b.Culprit == nil:
		return "others"
	case b.Culprit.Step != "":
		return requests.NameInText(b.Culprit.Step) + ", work without a request"
	}
	id := short(b.Culprit.TraceID)
	switch {
	case b.Reason == ByPrompt && b.Tokens > 0:
		return fmt.Sprintf("the prompt of %s (%s)", id, units.Plural(b.Tokens, "token"))
	case b.Reason == ByPrompt:
		return "the prompt of " + id
	case b.Reason == ByQueue:
		return id + ", in the queue for the batch"
	case b.Reason == ByDecode:
		return "the decode steps of " + id
	}
	return "the operations of " + id
}
