package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// Line is a line of a [Profile] in partial results: one of its fields is set. Lines of
// a table follow one another, that of the rows beyond the limit last.
type Line struct {
	Totals    *totalsForm    `json:"totals,omitempty"`
	Operation *operationForm `json:"operation,omitempty"`
	Group     *groupForm     `json:"group,omitempty"`
	Device    *deviceForm    `json:"device,omitempty"`
	// Slowest and Hotspot are entries.
	Slowest json.RawMessage `json:"slowest,omitempty"`
	Hotspot json.RawMessage `json:"hotspot,omitempty"`
}

// Parts returns how many of the fields are set.
func (l *Line) Parts() int {
	n := 0
	for _, has := range []bool{
		l.Totals != nil, l.Operation != nil, l.Group != nil, l.Device != nil, l.Slowest != nil, l.Hotspot != nil,
	} {
		if has {
			n++
		}
	}
	return n
}

// SetBins sets the bins of the durations of the line, and reports whether it has sums
// without any.
func (l *Line) SetBins(bins []int64) bool {
	var sums *sumsForm
	switch {
	case l.Operation != nil:
		sums = &l.Operation.sumsForm
	case l.Group != nil:
		sums = &l.Group.sumsForm
	}
	if sums == nil || sums.Bins != nil {
		return false
	}
	sums.Bins = bins
	return true
}

// totalsForm is what a Profile holds beside its tables and lists.
type totalsForm struct {
	Weighted        int64              `json:"weighted,omitempty"`
	PeakMemoryBytes int64              `json:"peak_memory_bytes"`
	First           op.Int             `json:"first_start_unix_ns"`
	Last            op.Int             `json:"last_end_unix_ns"`
	StatedMore      int64              `json:"stated_more_ns,omitempty"`
	States          bool               `json:"states_total,omitempty"`
	Rules           CommunicationRules `json:"communication_rules"`
	Copies          []copyForm         `json:"copies,omitempty"`
	Hotspots        int64              `json:"hotspot_count"`
}

type copyForm struct {
	Direction   string   `json:"direction"`
	Count       int64    `json:"count"`
	SumNS       wide.Sum `json:"sum_ns"`
	MemoryBytes wide.Sum `json:"memory_bytes"`
	TimedNS     wide.Sum `json:"timed_ns"`
	TimedBytes  wide.Sum `json:"timed_bytes"`
}

// sumsForm is an accumulator.
type sumsForm struct {
	Count       int64         `json:"count"`
	Errors      int64         `json:"errors,omitempty"`
	MinNS       int64         `json:"min_ns"`
	MaxNS       int64         `json:"max_ns"`
	SumNS       wide.Sum      `json:"sum_ns"`
	Squares     wide.Sum      `json:"sum_squares_ns2"`
	Elements    wide.Sum      `json:"elements,omitzero"`
	MemoryBytes wide.Sum      `json:"memory_bytes,omitzero"`
	FLOPs       wide.Sum      `json:"flops,omitzero"`
	Durations   numbers       `json:"durations,omitempty"`
	Bins        numbers       `json:"bins,omitempty"`
	Kinds       []string      `json:"kinds"`
	Exemplar    *exemplarForm `json:"exemplar,omitempty"`
	InputShapes []op.Shape    `json:"input_shapes,omitzero"`
	OutputShape op.Shape      `json:"output_shape,omitzero"`
	DType       op.DType      `json:"dtype,omitempty"`
	InputDTypes []op.DType    `json:"input_dtypes,omitzero"`
	Mixes       []string      `json:"mixes,omitempty"`
	Weighted    *weightedForm `json:"weighted,omitempty"`
	Work        *work.Form    `json:"work,omitempty"`
}

// numbers are most of the text of partial results, and read without reflection.
type numbers []int64

// UnmarshalJSON reads an array of integers.
func (n *numbers) UnmarshalJSON(text []byte) error {
	*n = nil
	if text[0] != '[' {
		return ErrNumber
	}
	inside := bytes.TrimSpace(text[1 : len(text)-1])
	if len(inside) == 0 {
		return nil
	}
	*n = make(numbers, 0, bytes.Count(inside, []byte(","))+1)
	for part := range bytes.SplitSeq(inside, []byte(",")) {
		v, err := strconv.ParseInt(string(bytes.TrimSpace(part)), 10, 64)
		if err != nil {
			return fmt.Errorf("%.80q is no integer", part)
		}
		*n = append(*n, v)
	}
	return nil
}

type exemplarForm struct {
	TraceID op.TraceID `json:"trace_id,omitzero"`
	SpanID  op.SpanID  `json:"span_id"`
}

// weightedForm has sums in units of 1/estimateUnit.
type weightedForm struct {
	Count wide.Sum `json:"count_2_32"`
	Sum   wide.Sum `json:"sum_ns_2_32"`
}

type operationForm struct {
	Name  string       `json:"name"`
	Side  string       `json:"side,omitempty"`
	Other *table.Other `json:"other,omitempty"`
	sumsForm
	Communications  int64    `json:"communications,omitempty"`
	CommunicationNS wide.Sum `json:"communication_ns,omitzero"`
}

type groupForm struct {
	Values []key.Value  `json:"values"`
	Side   string       `json:"side,omitempty"`
	Other  *table.Other `json:"other,omitempty"`
	sumsForm
}

type deviceForm struct {
	device.Key
	Other       *table.Other `json:"other,omitempty"`
	Count       int64        `json:"count"`
	SumNS       wide.Sum     `json:"sum_ns"`
	MemoryBytes wide.Sum     `json:"memory_bytes"`
}
