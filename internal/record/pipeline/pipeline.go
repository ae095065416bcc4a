// Package pipeline carries ended spans to an exporter: in buffers of encoded records, in a bounded queue of spans in
// front of any exporter, or in the history of a flight recorder.
//
// A pipeline handles a lack of room, decides when to write, stops in time, and counts the outcome of every span. The
// Processor selects its spans. Package encoding has the formats, and package sink writes.
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
	// OnEnd takes an ended span. After Stop an operation counts as dropped.
	OnEnd(e span.Ended)
	// Flush returns when the exporter has all spans passed to OnEnd before.
	Flush(ctx context.Context) error
	// Stop flushes and ends the pipeline, at the latest when ctx is done. Spans left then count as dropped.
	Stop(ctx context.Context) error
	// Stats returns the counts so far.
	Stats() Stats
}

// Stats counts spans, like optrace.Stats. Exported counts the spans handed to the exporter, with any outcome. Lost
// counts the dropped spans that the exporter never got.
type Stats struct{ Recorded, Exported, Written, Dropped, Lost, Skipped uint64 }

func isOperation(m *attr.Mapping, e *span.Ended) bool {
	return e.Data != nil || encoding.IsOperation(m, e.Span)
}

// Policy handles a span for which there is no room.
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

// Many is a Pipeline that takes many operations of a Recorder at a lower cost. It uses the data of an operation only
// until it asks for the next one. OnEnds may hold a lock meanwhile.
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
	Entries int           // operations kept
	OnError bool          // failed operations request a dump
	OnSlow  time.Duration // local roots at least this long request a dump; 0 is off
	Signals []os.Signal   // these request a dump
}

// Output is the exporter that a pipeline encodes for.
type Output struct {
	Sink    *sink.Sink
	Traces  *traces.WithOps
	Format  encoding.Format
	Mapping *attr.Mapping
}
