package analyze

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/optrace/optrace/op"
)

// FlatStacks are the collapsed stacks of the recorder this project started
// from: device and operation without the spans above. Its memory grows with
// the number of stacks, not of entries. The zero value is ready to use; it is
// not safe for concurrent use.
type FlatStacks struct {
	weights map[flatStack]*wide
}

type flatStack struct{ device, operation string }

// Add adds an entry. Entries of the host side are left out: their work is that
// of the device's entries. It keeps nothing of e but its strings.
func (f *FlatStacks) Add(e *op.Entry) {
	if e.Side == op.SideHost {
		return
	}
	stack := flatStack{e.DeviceID, e.Operation}
	if stack.device == "" {
		stack.device = UnknownDevice
	}
	f.weight(stack).add(flatWeight(e.Duration))
}

// Merge adds what other holds. The result does not depend on the order.
func (f *FlatStacks) Merge(other *FlatStacks) {
	for stack, weight := range other.weights {
		f.weight(stack).merge(*weight)
	}
}

// weight returns the weight of stack, to be changed.
func (f *FlatStacks) weight(stack flatStack) *wide {
	w := f.weights[stack]
	if w == nil {
		if f.weights == nil {
			f.weights = make(map[flatStack]*wide)
		}
		w = new(wide)
		f.weights[stack] = w
	}
	return w
}

// flatWeight returns a duration in nanoseconds as whole microseconds, rounded
// half up, and at least one so that short operations show.
func flatWeight(duration int64) int64 {
	us := max(duration, 1000) / 1000
	if max(duration, 1000)%1000 >= 500 {
		us++
	}
	return us
}

// WriteTo writes a line "trace;<device>;<operation> <weight>" per stack, sorted,
// with no line break after the last. The weight is the sum of the durations,
// each in microseconds, rounded and at least 1. Names are escaped as
// [Trace.WriteCollapsed] does it.
func (f *FlatStacks) WriteTo(w io.Writer) (int64, error) {
	lines := make(map[string]wide, len(f.weights)) // names may be equal once escaped
	for stack, weight := range f.weights {
		text := "trace;" + escapeFrame(stack.device) + ";" + escapeFrame(stack.operation)
		sum := lines[text]
		sum.merge(*weight)
		lines[text] = sum
	}
	var out bytes.Buffer
	for i, text := range slices.Sorted(maps.Keys(lines)) {
		if i > 0 {
			out.WriteByte('\n')
		}
		weight := lines[text]
		out.WriteString(text)
		out.WriteByte(' ')
		out.Write(strconv.AppendInt(nil, weight.int64(), 10))
	}
	return out.WriteTo(w)
}
