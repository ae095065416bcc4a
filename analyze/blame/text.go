package blame

import (
	"fmt"

	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
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
		p.Name = requests.NameInText(f.RowName(p.Row)) + " " + short(p)
	}
	for _, d := range delays {
		d.Behind = d.behind(short)
		d.Text = fmt.Sprintf("%s waited %s behind %s.", d.Victim.Name, units.Duration(d.NS), d.Behind)
	}
}

// shortest returns a function for the first digits of a party's trace id, or else the last ones, enough to tell parties
// apart. Parties of one trace are told apart by the digits of span ids.
func shortest(parties []*Party) func(*Party) string {
	id := func(p *Party) string { return p.TraceID.String() }
	if !distinct(parties, id) {
		id = func(p *Party) string { return p.RootSpanID.String() }
	}
	for digits := 4; digits <= 8; digits += 2 {
		for _, short := range []func(*Party) string{
			func(p *Party) string { return id(p)[:digits] + "…" },
			func(p *Party) string { return "…" + id(p)[len(id(p))-digits:] },
		} {
			if distinct(parties, short) {
				return short
			}
		}
	}
	return id
}

func distinct(parties []*Party, short func(*Party) string) bool {
	seen := make(map[string]int32)
	for _, p := range parties {
		text := short(p)
		if other, known := seen[text]; known && other != p.Row {
			return false
		}
		seen[text] = p.Row
	}
	return true
}

// behind names the culprit, such as "the prompt of 7c0d… (4,096 tokens)".
func (b *Blame) behind(short func(*Party) string) string {
	switch {
	case b.Culprit == nil:
		return "others"
	case b.Culprit.Step != "":
		return requests.NameInText(b.Culprit.Step) + ", work without a request"
	}
	id := short(b.Culprit)
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
