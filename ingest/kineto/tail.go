package kineto

import (
	"fmt"
	"maps"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// readTail yields the records that are known only at the end of the trace, and reports
// whether more records are wanted.
func (r *reader) readTail() bool {
	r.skipped.add(op.SkipUnpaired, r.pairs.count)
	for name, n := range r.categories {
		if reason := op.SkipCategory + op.SkipReason(name); name != "" && r.tables.hostOps.n+r.tables.deviceOps.n > 0 {
			r.skipped.add(reason, n)
		} else {
			r.skipped.add(op.SkipNonOp, n) // of a trace that is no profiler's
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped.counts)) {
		if n := r.skipped.counts[reason]; n > 0 && !r.yield(op.Record{Skipped: op.Skipped{Reason: reason, N: n}}, nil) {
			return false
		}
	}
	base := r.timeBase().V
	if base != 0 && r.baseless > 0 {
		msg := fmt.Sprintf("time base behind the events, spans that start without it: %d", r.baseless)
		if !r.yield(op.Record{}, r.events.RecordError(msg)) {
			return false
		}
	}
	resource, known := parseDistributed(r.events.Member(memberDistributed))
	if known && !r.yield(op.Record{Resource: &resource}, nil) {
		return false
	}
	entries := entryMaker{
		join: newJoin(&r.tables), build: r.build, feed: r.feed, base: base, rank: resource.Rank,
		trace: opfile.LocalTraceID(r.tables.fingerprint(base, resource.Rank)),
	}
	for i := range r.tables.hostOps.n {
		if !r.yield(op.Record{Entry: entries.host(i)}, nil) {
			return false
		}
	}
	for i := range r.tables.deviceOps.n {
		if !r.yield(op.Record{Entry: entries.device(i)}, nil) {
			return false
		}
	}
	return true
}

// timeBase returns the origin of the events' times, in Unix nanoseconds;
// unknown where the document does not say so, or has not yet.
func (r *reader) timeBase() op.Int { return parseInt(r.events.Member(MemberBase)) }

// parseDistributed reads the object that places the process in its job.
func parseDistributed(text []byte) (r op.Resource, known bool) {
	var l jsontext.Lexer
	l.Reset(text)
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "rank":
			r.Rank = readCount(&l)
		case "world_size":
			r.WorldSize = readCount(&l)
		default:
			l.Skip()
		}
	}
	return r, r.Rank.Known || r.WorldSize.Known
}
