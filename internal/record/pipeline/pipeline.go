// Package pipeline carries spans that have ended to an exporter: in buffers of encoded records that a goroutine writes, in a
// bounded queue of spans in front of any exporter, or in the history that a flight recorder keeps.
//
// A pipeline decides what happens when there is no room, when to write, and how to stop in time; it counts what became of
// every span. The Processor above decides which spans it gets; package encoding has the formats, and package sink writes.
package pipeline

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op/attr"
)

// Pipeline carries spans to an exporter. It is safe for concurrent use.
type Pipeline interface {
	// OnEnd takes a span that has ended. After Stop an operation counts as dropped.
	OnEnd(e span.Ended)
	// Flush returns when everything that OnEnd took before is with the exporter.
	Flush(ctx context.Context) error
	// Stop flushes and ends the pipeline, at the latest when ctx is done; spans that
	// are left then count as dropped.
	Stop(ctx context.Context) error
	// Stats returns the counts so far.
	Stats() Stats
}

// Stats counts what became of spans, as optrace.Stats does. Exported are those handed to
// the exporter, whatever came of it; Lost are those of Dropped that were not.
type Stats struct{ Recorded, Exported, Written, Dropped, Lost, Skipped uint64 }

// isOperation reports whether e is an operation, in front of an exporter that reads attributes as m says.
func isOperation(m *attr.Mapping, e *span.Ended) bool {
	return e.Data != nil || encoding.IsOperation(m, e.Span)
}

// Policy is what happens to a span for which there is no room.
type Policy uint8

// The policies.
const (
	DropNewest Policy = iota
	DropOldest
	Block
)

// String returns the name of the policy.
func (p Policy) String() string {
	switch p {
	case DropNewest:
		return "drop-newest"
	case DropOldest:
		return "drop-oldest"
	case Block:
		return "block"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// Many is a Pipeline that takes many operations of a Recorder at once more cheaply. Their data is only used until the next
// one is asked for. OnEnds may hold a lock meanwhile.
type Many interface {
	OnEnds(all iter.Seq[span.Ended])
}

// Config configures a pipeline.
type Config struct {
	Policy        Policy
	MaxBytes      int64 // of all buffers, at least MinMaxBytes
	FlushInterval time.Duration
	ExportTimeout time.Duration
	CacheBytes    int // of the caches of all encoders

	// Of flight recorders:
	Entries int           // how many operations are kept
	OnError bool          // operations that fail request a dump
	OnSlow  time.Duration // local roots that take as long request a dump; 0: none do
	Signals []os.Signal   // these request a dump
}

// Output is the exporter that a pipeline encodes for.
type Output struct {
	Sink    *sink.Sink
	Traces  *traces.WithOps
	Format  encoding.Format
	Mapping *attr.Mapping
}
