package livepage

import (
	"cmp"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/optrace/optrace/op"
)

// Limits bounds a Window.
type Limits struct {
	Records int           // bounds the operations and spans; 0 is DefaultRecords
	Age     time.Duration // bounds the time since a record came in; 0 is no limit
	// Bytes bounds the memory of the records, as lines of entries. The memory of a report grows with it. 0 is
	// DefaultBytes.
	Bytes int64
	// Observe is called with every incoming operation, its long texts cut; it may be nil. It must be safe for
	// concurrent use and must not retain the entry.
	Observe func(*op.Entry)
}

// The defaults of Limits.
const (
	DefaultRecords = 100_000
	DefaultBytes   = 64 << 20
)

// Window holds the latest records of its inputs, and counts records that fell out. It is safe for concurrent use.
type Window struct {
	limits Limits
	now    func() time.Time
	id     string // distinguishes its versions from another window's

	mu      sync.Mutex
	blocks  []*block // in order of arrival
	records int
	bytes   int64
	version uint64 // grows with every change
	lost    Lost
	inputs  []*Input
}

// Lost counts records that fell out of a Window.
type Lost struct {
	Operations, Spans int64
	Other             int64 // counts unreadable records, gaps and the like
}

// Add adds other numbers.
func (l *Lost) Add(o Lost) {
	l.Operations += o.Operations
	l.Spans += o.Spans
	l.Other += o.Other
}

// AddLost counts records lost before they came in.
func (w *Window) AddLost(lost Lost) {
	if lost == (Lost{}) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost.Add(lost)
	w.version++
}

// block is a part of the records. It does not change once it is in a window.
type block struct {
	at time.Time
	// text holds entries and spans as entries JSON Lines. It starts with a header.
	text              []byte
	operations, spans int
	// others are other records, and errors the errors of unreadable ones.
	others []op.Record
	errors []*op.SyntaxError
}

const blockOverhead = 256 // about the size of a block without its text

const otherSize = 128

func (b *block) records() int { return b.operations + b.spans + len(b.others) + len(b.errors) }

func (b *block) bytes() int64 {
	n := blockOverhead + int64(cap(b.text)) + otherSize*int64(len(b.others)+len(b.errors))
	for _, e := range b.errors {
		n += int64(len(e.Msg))
	}
	return n
}

// NewWindow returns an empty window.
func NewWindow(limits Limits) *Window {
	limits.Records = cmp.Or(max(0, limits.Records), DefaultRecords)
	limits.Bytes = cmp.Or(max(0, limits.Bytes), DefaultBytes)
	return &Window{limits: limits, now: time.Now, id: rand.Text()}
}

func (w *Window) add(b *block) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.at = w.now()
	w.blocks = append(w.blocks, b)
	w.records += b.records()
	w.bytes += b.bytes()
	w.version++
	w.trim()
}

func (w *Window) trim() {
	for len(w.blocks) > 0 {
		b := w.blocks[0]
		old := w.limits.Age > 0 && w.now().Sub(b.at) > w.limits.Age
		if !old && w.records <= w.limits.Records && w.bytes <= w.limits.Bytes {
			break
		}
		w.lost.Add(Lost{int64(b.operations), int64(b.spans), int64(len(b.others) + len(b.errors))})
		w.records -= b.records()
		w.bytes -= b.bytes()
		w.blocks[0] = nil
		w.blocks = w.blocks[1:]
		w.version++
	}
}

// view is the content of a window at one time, and the input of a report.
type view struct {
	version uint64
	blocks  []*block
	lost    Lost
	inputs  []Input // as they were
}

func (w *Window) view() *view {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trim()
	v := &view{version: w.version, blocks: slices.Clone(w.blocks), lost: w.lost}
	for _, in := range w.inputs {
		v.inputs = append(v.inputs, *in)
	}
	return v
}
