package op

import (
	"fmt"
	"slices"
	"strings"
)

// Schema names the entries JSON Lines format and its major version.
const Schema = "optrace.entries/v1"

// Record is one item of an input. At most one of the pointers is set. A record with no pointer and a Skipped.N of 0 has no
// content, such as a header without a resource.
//
// The values behind the pointers belong to the reader and are valid until its next record.
type Record struct {
	Entry *Entry // an operation
	Span  *Span  // any other span
	// Call is host activity beside operations: a runtime call or an annotated range, with Operation, Rank, Start and
	// Duration. Figures leave it out, except for the causes of idle time. In a profile the Skipped of another record
	// counts it.
	// Attrs has its thread.id. A wait within an operator, below ParentSpanID, is a Call as well. Waits state their
	// device and stream, and the attributes tensor.wait.* of their event. A Call with a SpanID is no activity: it says
	// that the operation ParentSpanID of a device waited for the operation SpanID.
	Call *Entry
	// Resource describes the source of the following records.
	Resource *Resource
	// Gap counts operations lost before they could be written.
	Gap *Gap
	// Batch starts the records of one write.
	Batch *Batch
	Total *Total // the total stated by a seed trace, after its entries
	// Partial has sums over operations. Readers yield it on request only.
	Partial *Partial
	// Skipped counts the items that the reader skipped.
	Skipped Skipped
}

// Partial is a file of partial results, sums over the operations of an input. Package analyze writes and reads it.
type Partial struct {
	// File names the input, "-" for standard input.
	File string
	Text []byte // the whole file
}

// Gap counts operations lost after they were recorded.
type Gap struct {
	Dropped int64  // their number
	Reason  string // the cause, such as "queue_full" or "write_failed"
}

// Batch heads the records of one write. A missing write shows as a missing sequence number.
type Batch struct {
	Writer string // unique per process and exporter
	// Sequence counts the writes of a writer from 0.
	Sequence int64
	Entries  int64 // the number of entries that follow
}

// Total is the duration that a file states for its entries together.
type Total struct {
	Stated int64 // the total in nanoseconds
	Sum    int64 // the sum of the durations of the device's entries, in nanoseconds
}

// Skipped counts items without a record of this model.
type Skipped struct {
	Reason SkipReason
	N      int64
	Signal string // "metrics", "logs" or "profiles" for SkipOtherSignal
}

// SkipReason is the reason for skipping an item.
type SkipReason string

// The reasons.
const (
	// SkipNonOp: a span other than an operation. Readers yield it as a Span.
	SkipNonOp SkipReason = "non_op"
	// SkipAnnotation: a range of a profile around a part of the program, such as a training step.
	SkipAnnotation SkipReason = "annotation"
	SkipFiltered   SkipReason = "filtered"        // an operation left out by a filter
	SkipPython     SkipReason = "python_function" // a call of a Python function in a profile
	// SkipRuntime: a call of a device's runtime on the host, such as a launch or a synchronisation.
	SkipRuntime SkipReason = "runtime_call"
	// SkipUnpaired: the beginning of a span without its end, or the reverse.
	SkipUnpaired SkipReason = "unpaired"
	// SkipFlow: an arrow between two spans of a profile. Not counted among the spans.
	SkipFlow SkipReason = "flow"
	// SkipMetadata: the name of a thread, a counter, a mark at one point in time. Not counted among the spans.
	SkipMetadata SkipReason = "metadata"
	// SkipOtherSignal: OTLP metrics, logs or profiles. Not counted among the spans.
	SkipOtherSignal SkipReason = "other_signal"
	// SkipUnknownRecord: a record of a kind unknown to this version. Not counted among the spans.
	SkipUnknownRecord SkipReason = "unknown_record"
	// SkipCategory begins the reasons for profiler events of unknown categories, such as "category:mtia_insight".
	SkipCategory SkipReason = "category:"
	// SkipMissing begins the reasons for missing tables, such as "missing:NVTX_EVENTS". Not counted among the spans.
	SkipMissing SkipReason = "missing:"
)

// IsSpan reports whether the skipped items count among the spans read.
func (r SkipReason) IsSpan() bool {
	switch r {
	case SkipFlow, SkipMetadata, SkipOtherSignal, SkipUnknownRecord:
		return false
	}
	return !strings.HasPrefix(string(r), string(SkipMissing))
}

// Position is a place in a file: the numbers of bytes and newlines in front of it.
type Position struct{ Offset, Lines int64 }

// SyntaxError is an unreadable record. The reader goes on with the next record.
type SyntaxError struct {
	// File names the input, "-" for standard input.
	File string
	// Line counts from 1, 0 for a format without lines.
	Line   int64
	Offset int64 // in bytes from the start of the decompressed input, negative if unknown
	// Msg describes the error.
	Msg       string
	Truncated bool       // set if the input ended within the record
	Class     ErrorClass // the class of the error
	Records   int64      // the number of records in error, 0 for one
}

// Count returns the number of records in error.
func (e *SyntaxError) Count() int64 { return max(e.Records, 1) }

// Error returns the known parts of the position, and the message.
func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s (at byte %d)", e.File, e.Line, e.Msg, e.Offset)
	}
	if e.Offset < 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s: %s (at byte %d)", e.File, e.Msg, e.Offset)
}

// ErrorClass is the class of a [SyntaxError]. Unlike the message it contains no text of the input.
type ErrorClass uint8

// The classes.
const (
	ErrorSyntax ErrorClass = iota // the record does not follow the grammar of its format
	// ErrorRecord: a value of the well-formed record is missing or impossible. Some readers report ErrorSyntax for it.
	ErrorRecord
	ErrorLimit      // the record exceeds a limit of the reader
	ErrorDamaged    // compressed or binary data are damaged
	ErrorFormat     // a file is of no known format, or of a later version
	ErrorOther      // any other reason, such as a server's refusal
	ErrorUnreadable // a file could not be opened
)

var classNames = [...]string{"syntax", "invalid_record", "limit_exceeded", "damaged", "unknown_format", "other",
	"unreadable"}

// String returns the key of the class in reports.
func (c ErrorClass) String() string {
	if int(c) >= len(classNames) {
		c = ErrorOther
	}
	return classNames[c]
}

// Span is a span other than an operation: a request, a step, a layer. The tree and the latency of requests need it.
type Span struct {
	Name         string
	TraceID      TraceID
	SpanID       SpanID
	ParentSpanID SpanID
	// RemoteParent is set if the parent lies in another process. The span is then a local root.
	RemoteParent bool
	Start        Int   // in Unix nanoseconds
	Duration     int64 // in nanoseconds
	Service      string
	Failed       bool // set if the span ended in an error
	// Attrs holds the attributes and Extra the rest of the span. Both are nil unless the reader was asked for them,
	// see [attr.Mapping.Keep] and KeepAll. Recorders keep the attributes used for the price of a request.
	Attrs []Attr
	Links []Link // the linked spans
	Extra *Extra
}

// Clone returns a deep copy of s. It shares strings only.
func (s *Span) Clone() *Span {
	c := *s
	c.Attrs = slices.Clone(s.Attrs)
	c.Links = cloneLinks(s.Links)
	c.Extra = s.Extra.clone()
	return &c
}

// Resource describes a process, the source of spans.
type Resource struct {
	Service   string
	Rank      Int
	WorldSize Int
	Host      string // the value of host.name, one of Attrs
	// Attrs holds the other attributes.
	Attrs []Attr
}

// Clone returns a deep copy of r. It shares strings only.
func (r *Resource) Clone() *Resource {
	c := *r
	c.Attrs = slices.Clone(r.Attrs)
	return &c
}

// Pruned summarises the short operations of one name on one device below a local root. A service trace has the summary
// in their place; local batches have each operation.
type Pruned struct {
	// TraceID and SpanID identify the local root.
	TraceID TraceID
	SpanID  SpanID
	// Operation and DeviceID are as in an [Entry]. Operation is "(other)" for operations beyond the summary's bounds.
	Operation string
	DeviceID  string
	// Count is the number of operations, Duration the sum of their durations in nanoseconds.
	Count    int64
	Duration int64
}
