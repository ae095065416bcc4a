package optrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// format is what an exporter writes.
type format interface {
	// name is what the option that chooses the format calls it.
	name() string
	// newEncoder returns an encoder for the use of one goroutine at a time.
	// memoBytes bounds what it remembers of spans that are alike.
	newEncoder(m *op.Mapping, memoBytes int) encoder
	// frame returns b in the form in which it is written, and the length of what
	// stands in front of b's records. It is in the memory of b or of f.scratch, and
	// frame may be called again.
	frame(b *batch, f *framing) (framed []byte, head int)
	// complete returns how many entries a write that was cut off left whole:
	// written is the part of the frame behind the head that got through.
	complete(b *batch, written []byte) int
	// lines tells that the format is made of lines, so that a line that was cut
	// off spoils nothing but itself once a newline follows.
	lines() bool
	// accepts reports whether a file that starts with head, which is not empty
	// and may be cut off, may be appended to.
	accepts(head []byte) bool
}

// framing is what a batch is told when it is written.
type framing struct {
	writer   string
	sequence int64
	// header asks for what a reader of the file must know first.
	header bool
	// gaps are the losses since the last batch.
	gaps []op.Gap
	// newline asks for a newline in front: the last line was cut off.
	newline bool
	// scratch and tail are memory for what is framed.
	scratch, tail []byte
}

// encoder encodes spans into batches.
type encoder interface {
	// takesViews reports whether add takes views. The encoders of formats that are
	// made of spans do not.
	takesViews() bool
	// add encodes f: an operation as an entry, another span as an ancestor if its
	// trace is known to hold operations.
	add(b *batch, f finished, traces traceNotes) outcome
	// addSpan is add for a span whose root is not known.
	addSpan(b *batch, s sdktrace.ReadOnlySpan, traces traceNotes) outcome
	// isOperation reports whether s would become an entry.
	isOperation(s sdktrace.ReadOnlySpan) bool
}

// maxMemoBytes bounds what an encoder remembers: 20,000 sets or so.
const maxMemoBytes = 16 << 20
