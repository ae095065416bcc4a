package doctor

import (
	"math"

	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// maxIDs bounds the ids that are kept.
const maxIDs = 1 << 16

// idSample knows which of the ids that are referred to are ids of spans. It keeps all ids
// whose hash is at most a limit. The limit is halved when there are too many, so that what
// is kept depends on the set of ids and not on their order.
type idSample struct {
	room  int
	limit uint64
	ids   map[uint64]references
}

// references is what is known of an id.
type references struct {
	there           bool // a span has it
	children, links int64
}

func newIDSample(room int) idSample {
	return idSample{room: room, limit: math.MaxUint64, ids: make(map[uint64]references)}
}

// isThere notes that a span has an id.
func isThere(r *references) { r.there = true }

// change changes what is known of an id. Ids that are zero are none.
func (s *idSample) change(trace op.TraceID, span op.SpanID, change func(*references)) {
	if span.IsZero() {
		return
	}
	hash := hashID(trace, span)
	if hash > s.limit {
		return
	}
	r := s.ids[hash]
	change(&r)
	s.ids[hash] = r
	for len(s.ids) > s.room {
		s.limit /= 2
		for h := range s.ids {
			if h > s.limit {
				delete(s.ids, h)
			}
		}
	}
}

// whole reports whether all ids are kept.
func (s *idSample) whole() bool { return s.limit == math.MaxUint64 }

// absent returns how many of a number of references lead to spans that were not added. of
// counts the references to an id.
func (s *idSample) absent(total int64, of func(references) int64) int64 {
	var kept, missing int64
	for _, r := range s.ids {
		kept += of(r)
		if !r.there {
			missing += of(r)
		}
	}
	if s.whole() || kept == 0 {
		return missing
	}
	return int64(math.Round(float64(total) * float64(missing) / float64(kept)))
}

// hashID hashes an id.
func hashID(trace op.TraceID, span op.SpanID) uint64 {
	var id [len(trace) + len(span)]byte
	copy(id[copy(id[:], trace[:]):], span[:])
	return table.Hash(id[:])
}
