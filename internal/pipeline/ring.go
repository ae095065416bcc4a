package pipeline

import "github.com/optrace/optrace/internal/encoding"

// ring holds the last records of one kind. The memory of a record that is
// overwritten is reused.
type ring struct {
	records []ringRecord
	next    int
	full    bool
}

type ringRecord struct {
	sequence uint64
	record   encoding.Record
}

func newRing(n int) ring { return ring{records: make([]ringRecord, n)} }

// put stores a copy of the one record in b and reports whether another record was
// overwritten.
func (r *ring) put(sequence uint64, b *encoding.Batch) (lost bool) {
	slot := &r.records[r.next]
	lost = r.full
	slot.sequence = sequence
	slot.record = encoding.Record{
		Bytes: append(slot.record.Bytes[:0], b.Body()...), Entries: b.Entries, Source: b.First, Resource: b.FirstResource,
	}
	if r.next++; r.next == len(r.records) {
		r.next, r.full = 0, true
	}
	return lost
}

// all returns the records, oldest first.
func (r *ring) all() []ringRecord {
	if !r.full {
		return r.records[:r.next]
	}
	return append(append([]ringRecord(nil), r.records[r.next:]...), r.records[:r.next]...)
}

func (r *ring) clear() { r.next, r.full = 0, false }
