package op

import (
	"fmt"
	"slices"
	"strings"
)

// Schema names the entries JSON Lines format and its major version.
const Schema = "optrace.entries/v1"

// Record is one thing that a reader found. At most one of the pointers is set;
// none of them, and Skipped.N == 0, is a record without content, such as a
// header with no resource.
//
// The values behind the pointers belong to the reader and are valid until its next
// record.
type Record struct {
	// Entry is an operation.
	Entry *Entry
	// Span is a span that is not an operation.
	Span *Span
	// Call is what a thread of the host did beside operations: a call of a device's runtime, or an annotated range, with its name
	// as the Operation, its Rank, Start and Duration. It counts in no figure but tells what went on while devices were idle; Skipped
	// of another record counts it.
	Call *Entry
	// Resource describes the source of what follows.
	Resource *Resource
	// Gap counts operations that were lost before they could be written.
	Gap *Gap
	// Batch starts the records of one write.
	Batch *Batch
	// Total is the total that a seed trace states, after its entries.
	Total *Total
	// Partial are sums over operations, handed out to those only who ask.
	Partial *Partial
	// Skipped counts things that the reader passed over.
	Skipped Skipped
}

// Partial is a file of partial results: sums over the operations of an input, which
// package analyze writes and reads.
type Partial struct {
	// File names the input, "-" for standard input.
	File string
	// Text is all of it.
	Text []byte
}

// Gap counts operations that were recorded and then lost.
type Gap struct {
	// Dropped is how many.
	Dropped int64
	// Reason is why, such as "queue_full" or "write_failed".
	Reason string
}

// Batch heads the records of one write, so that a missing write shows.
type Batch struct {
	// Writer is unique per process and exporter.
	Writer string
	// Sequence counts the writes of a writer from 0.
	Sequence int64
	// Entries is how many entries follow.
	Entries int64
}

// Total is a duration that a file states for its entries together.
type Total struct {
	// Stated is the total in nanoseconds.
	Stated int64
	// Sum is the sum of the durations of the entries read that are not host-side, in
	// nanoseconds.
	Sum int64
}

// Skipped counts things that are not records of this model.
type Skipped struct {
	Reason SkipReason
	N      int64
	// Signal is "metrics", "logs" or "profiles" where the reason is SkipOtherSignal.
	Signal string
}

// SkipReason is why a reader passed something over.
type SkipReason string

// The reasons.
const (
	// SkipNonOp: a span that is not an operation. Readers hand these out as Spans.
	SkipNonOp SkipReason = "non_op"
	// SkipAnnotation: a range of a profile that marks a part of the program,
	// such as a training step.
	SkipAnnotation SkipReason = "annotation"
	// SkipFiltered: an operation that does not count, by whoever reads.
	SkipFiltered SkipReason = "filtered"
	// SkipPython: a call of a Python function in a profile.
	SkipPython SkipReason = "python_function"
	// SkipRuntime: a call of a device's runtime on the host, such as a launch,
	// and synchronisation.
	SkipRuntime SkipReason = "runtime_call"
	// SkipUnpaired: the beginning of a span without its end, or the reverse.
	SkipUnpaired SkipReason = "unpaired"
	// SkipFlow: an arrow between two spans of a profile. Not counted among the
	// spans.
	SkipFlow SkipReason = "flow"
	// SkipMetadata: the name of a thread, a counter, a mark at one point in time.
	// Not counted among the spans.
	SkipMetadata SkipReason = "metadata"
	// SkipOtherSignal: OTLP metrics, logs or profiles. Not counted among the spans.
	SkipOtherSignal SkipReason = "other_signal"
	// SkipUnknownRecord: a record of a kind that this version does not know.
	// Not counted among the spans.
	SkipUnknownRecord SkipReason = "unknown_record"
	// SkipCategory begins the reasons of a profiler's events of categories that this version does not
	// know, such as "category:mtia_insight".
	SkipCategory SkipReason = "category:"
	// SkipMissing begins the reasons of tables that a profile lacks, such as "missing:NVTX_EVENTS". Not
	// counted among the spans.
	SkipMissing SkipReason = "missing:"
)

// IsSpan reports whether the things passed over count among the spans read.
func (r SkipReason) IsSpan() bool {
	switch r {
	case SkipFlow, SkipMetadata, SkipOtherSignal, SkipUnknownRecord:
		return false
	}
	return !strings.HasPrefix(string(r), string(SkipMissing))
}

// Position is a place in a file: how many bytes and newlines lie in front of it.
type Position struct{ Offset, Lines int64 }

// SyntaxError is a record that could not be read. The reader that returned it
// goes on with the next record.
type SyntaxError struct {
	// File names the input, "-" for standard input.
	File string
	// Line counts from 1; 0 where the format has no lines.
	Line int64
	// Offset is in bytes from the start of the (decompressed) input; negative
	// where what is wrong has no position.
	Offset int64
	// Msg describes the error.
	Msg string
	// Truncated is set if the input ended within the record.
	Truncated bool
	// Class is the class of what is wrong.
	Class ErrorClass
	// Records is how many records the error stands for, where that is more than one.
	Records int64
}

// Count returns how many records the error stands for.
func (e *SyntaxError) Count() int64 { return max(e.Records, 1) }

// Error returns the position, as far as there is one, and the message.
func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s (at byte %d)", e.File, e.Line, e.Msg, e.Offset)
	}
	if e.Offset < 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s: %s (at byte %d)", e.File, e.Msg, e.Offset)
}

// ErrorClass is the class of a [SyntaxError], for counts: unlike the message it
// holds nothing of the input.
type ErrorClass uint8

// The classes.
const (
	// ErrorSyntax: the record does not follow the grammar of its format.
	ErrorSyntax ErrorClass = iota
	// ErrorRecord: the record is well formed, but a value is missing or not
	// possible. Readers that check both at once report ErrorSyntax.
	ErrorRecord
	// ErrorLimit: the record exceeds a limit of the reader.
	ErrorLimit
	// ErrorDamaged: compressed or binary data are damaged.
	ErrorDamaged
	// ErrorFormat: a file is of no known format, or of a later version.
	ErrorFormat
	// ErrorOther: any other reason, such as a server that does not hand out the
	// record.
	ErrorOther
	// ErrorUnreadable: a file could not be opened.
	ErrorUnreadable
)

var classNames = [...]string{"syntax", "invalid_record", "limit_exceeded", "damaged", "unknown_format", "other", "unreadable"}

// String returns the key of the class in reports.
func (c ErrorClass) String() string {
	if int(c) >= len(classNames) {
		c = ErrorOther
	}
	return classNames[c]
}

// Span is a span that is not an operation: a request, a step, a layer. The tree
// and the latency of requests need it.
type Span struct {
	Name         string
	TraceID      TraceID
	SpanID       SpanID
	ParentSpanID SpanID
	// RemoteParent is set if the parent lies in another process, which makes this
	// span a local root.
	RemoteParent bool
	// Start is in Unix nanoseconds, Duration in nanoseconds.
	Start    Int
	Duration int64
	Service  string
	// Failed is set if the span ended in an error.
	Failed bool
	// Attrs holds the attributes, and Extra what else the span had; both are nil
	// unless a reader was asked for them, see [attr.Mapping.Keep] and KeepAll. Recorders keep those of requests
	// by which they are priced.
	Attrs []Attr
	// Links are the spans that the span refers to, nil for none.
	Links []Link
	Extra *Extra
}

// Clone returns a copy that shares nothing with s but strings.
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
	// Host is the value of host.name, which is among Attrs.
	Host string
	// Attrs holds the other attributes.
	Attrs []Attr
}

// Clone returns a copy that shares nothing with r but strings.
func (r *Resource) Clone() *Resource {
	c := *r
	c.Attrs = slices.Clone(r.Attrs)
	return &c
}

// Pruned summarises operations that were kept out of a service trace because they
// were short: those of one name on one device below a local root. Local batches hold
// them one by one.
type Pruned struct {
	// TraceID and SpanID are those of the local root.
	TraceID TraceID
	SpanID  SpanID
	// Operation and DeviceID are as in an [Entry]. Operation is "(other)" for
	// the operations beyond the summary's bounds.
	Operation string
	DeviceID  string
	// Count is their number, Duration the sum of their durations in nanoseconds.
	Count    int64
	Duration int64
}
