package text

import (
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// suspects lists the records with times or parents that cannot be right, with
// an example of each kind.
func (p *page) suspects(in *analyze.Envelope) {
	if n := in.SuspectDurations.V; n > 0 {
		p.field("suspect", plural(n, "duration")+", still running when a later operation of the stream had ended", true)
		p.example(in, suspects.Duration, "the longest: ")
	}
	if n := in.Clock.V; n > 0 {
		p.field("clock", plural(n, "start")+" more than 1 ms before the parent started or after it ended", true)
		p.example(in, suspects.Clock, "farthest off: ")
	}
	if n := in.Cycles.V; n > 0 {
		p.field("cycles", pluralOf(n, "ring", "rings")+" of parents, cut at the span that starts first", true)
		p.example(in, suspects.Cycle, "the first: ")
	}
}

// example shows the example of a kind of suspect records.
func (p *page) example(in *analyze.Envelope, what suspects.Kind, label string) {
	for i := range in.Suspects {
		if s := &in.Suspects[i]; s.What == what {
			p.note(label + suspectText(s))
		}
	}
}

func suspectText(s *suspects.Suspect) string {
	text := termtext.Truncate(termtext.Clean(s.Operation), maxInText)
	if s.DeviceID != "" {
		device := device.Key{Rank: s.Rank, DeviceID: s.DeviceID, Service: s.Service, Host: s.Host}
		text += " on " + termtext.Truncate(termtext.Clean(device.Label(true)), maxInText)
	}
	if s.Stream.Known {
		text += ", stream " + s.Stream.String()
	}
	text += ", " + units.Duration(s.DurationNS)
	switch {
	case s.OffNS.V < 0:
		text += ", " + units.Duration(-s.OffNS.V) + " before its parent started"
	case s.OffNS.V > 0:
		text += ", " + units.Duration(s.OffNS.V) + " after its parent ended"
	}
	if s.SpanID != (op.SpanID{}) {
		text += ", span " + s.SpanID.String()
	}
	return text
}
