package optrace

import "github.com/optrace/optrace/op"

// outgoing is a batch on its way out, until it is known what became of it.
type outgoing struct {
	batch    *batch
	gaps     []op.Gap // the losses that it tells of
	recycle  func(*batch)
	observed func(exported int, err error)
}

// rest is what did not get through of a batch whose beginning did. There is one
// at most, so that it takes the memory of one batch.
type rest struct {
	*outgoing
	bytes []byte
}

// begin counts b's entries as under way; settle ends that. recycle may be nil.
func (s *sink) begin(b *batch, recycle func(*batch)) *outgoing {
	s.inFlight.Add(uint64(b.entries))
	return &outgoing{batch: b, recycle: recycle, observed: s.metrics.export(b.entries)}
}

// settle accounts for the entries of o, of which written got through; the others
// are dropped for reason. It hands the batch back.
func (s *sink) settle(o *outgoing, written int, reason string, err error) {
	b := o.batch
	b.written = written
	s.inFlight.Add(-uint64(b.entries))
	s.written.Add(uint64(written))
	s.drop(reason, uint64(b.entries-written))
	o.observed(written, err)
	if o.recycle != nil {
		o.recycle(b)
	}
}

// keepGaps leaves the losses that o did not tell of to the next batch.
func (s *sink) keepGaps(o *outgoing) {
	for _, g := range o.gaps {
		s.addGap(g)
	}
}

// writeRest writes the rest of the batch before, if there is one.
func (s *sink) writeRest() error {
	if s.rest == nil {
		return nil
	}
	n, err := safeWrite(s.target, s.rest.bytes)
	if err != nil {
		if 0 < n && n < len(s.rest.bytes) {
			s.rest.bytes = s.rest.bytes[n:]
		}
		return err
	}
	o := s.rest.outgoing
	s.rest = nil
	s.settle(o, o.batch.entries, "", nil)
	return nil
}

// giveUpRest drops the entries of a batch whose rest cannot be written.
func (s *sink) giveUpRest(err error) {
	o := s.rest.outgoing
	s.rest = nil
	s.keepGaps(o)
	s.settle(o, 0, "write_failed", err)
}
