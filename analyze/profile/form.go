package profile

import (
	"encoding/json"

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

// totalsForm is what a Profile holds beside its tables and lists.
type totalsForm struct {
	totals
	Copies   []copyForm `json:"copies,omitempty"`
	Hotspots int64      `json:"hotspot_count"`
}

type copyForm struct {
	Direction string `json:"direction"`
	copies
}

// sumsForm is an accumulator.
type sumsForm struct {
	sums
	Durations   []int64       `json:"durations,omitempty"`
	Bins        []int64       `json:"bins,omitempty"`
	Kinds       []string      `json:"kinds"`
	Exemplar    *exemplarForm `json:"exemplar,omitempty"`
	InputShapes []op.Shape    `json:"input_shapes,omitzero"`
	OutputShape op.Shape      `json:"output_shape,omitzero"`
	DType       op.DType      `json:"dtype,omitempty"`
	InputDTypes []op.DType    `json:"input_dtypes,omitzero"`
	Mixes       []string      `json:"mixes,omitempty"`
	Weighted    *weighted     `json:"weighted,omitempty"`
	Work        *work.Sums    `json:"work,omitempty"`
}

type exemplarForm struct {
	TraceID op.TraceID `json:"trace_id,omitzero"`
	SpanID  op.SpanID  `json:"span_id"`
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
	Other *table.Other `json:"other,omitempty"`
	deviceSums
}
