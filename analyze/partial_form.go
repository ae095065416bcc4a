package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// partialLine is a line of partial results: the first one has a schema and options, and any
// other one of the rest. Lines of a table follow one another, that of the rows beyond the
// limit last.
type partialLine struct {
	Schema    string          `json:"schema,omitempty"`
	Options   *partialOptions `json:"options,omitempty"`
	Input     *inputForm      `json:"input,omitempty"`
	Reason    *reasonForm     `json:"reason,omitempty"`
	Writer    *writerForm     `json:"writer,omitempty"`
	Totals    *totalsForm     `json:"totals,omitempty"`
	Operation *operationForm  `json:"operation,omitempty"`
	Group     *groupForm      `json:"group,omitempty"`
	Device    *deviceForm     `json:"device,omitempty"`
	// Slowest and Hotspot are entries.
	Slowest json.RawMessage `json:"slowest,omitempty"`
	Hotspot json.RawMessage `json:"hotspot,omitempty"`
	End     *endForm        `json:"end,omitempty"`
}

// partialOptions are the options that shape the sums, with the defaults in place.
type partialOptions struct {
	By            []string       `json:"by,omitempty"`
	MaxGroups     int            `json:"max_groups"`
	Top           int            `json:"top"`
	HotspotBytes  int64          `json:"hotspot_bytes"`
	RecordedFLOPs bool           `json:"recorded_flops,omitempty"`
	Peaks         []peaks.Device `json:"peaks,omitempty"`
}

// inputForm are the counts of a counter.
type inputForm struct {
	Files          int64            `json:"files"`
	Bytes          int64            `json:"bytes"`
	Formats        []string         `json:"format"`
	Entries        int64            `json:"entries"`
	NoOps          int64            `json:"skipped"`
	Weighted       int64            `json:"weighted,omitempty"`
	Malformed      int64            `json:"malformed,omitempty"`
	Truncated      int64            `json:"truncated,omitempty"`
	Dropped        int64            `json:"dropped,omitempty"`
	MissingEntries int64            `json:"missing_entries,omitempty"`
	Warnings       map[string]int64 `json:"warnings,omitempty"`
	Problems       []problemForm    `json:"problems,omitempty"`
}

type problemForm struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// reasonForm is a row of one of the reasonTables.
type reasonForm struct {
	Of     string     `json:"of"`
	Reason string     `json:"reason"`
	N      int64      `json:"n"`
	Other  *otherForm `json:"other,omitempty"`
}

// writerForm has the numbers of the batches of a writer, in ranges.
type writerForm struct {
	Writer  string     `json:"writer"`
	Batches [][2]int64 `json:"batches"`
	Other   *otherForm `json:"other,omitempty"`
}

// otherForm marks the row of the keys beyond the limit of a table, see [table.Rest].
type otherForm struct {
	Beyond    []byte `json:"beyond"`
	Hashes    []byte `json:"hashes"` // eight bytes each, big-endian
	Estimated bool   `json:"estimated,omitempty"`
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
	Work        *workForm     `json:"work,omitempty"`
}

// numbers are most of the text of partial results, and read without reflection.
type numbers []int64

// UnmarshalJSON reads an array of integers.
func (n *numbers) UnmarshalJSON(text []byte) error {
	*n = nil
	if text[0] != '[' {
		return errNumber
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

type workForm struct {
	FLOPsCount   int64    `json:"flops_count"`
	DerivedCount int64    `json:"flops_derived_count,omitempty"`
	MovedCount   int64    `json:"moved_count,omitempty"`
	Derived      wide.Sum `json:"flops_derived,omitzero"`
	TimeNS       wide.Sum `json:"time_ns"`
	MovedBytes   wide.Sum `json:"moved_bytes,omitzero"`
	MovedFLOPs   wide.Sum `json:"moved_flops,omitzero"`
	BoundCount   int64    `json:"bound_count,omitempty"`
	BoundTimeNS  wide.Sum `json:"bound_time_ns,omitzero"`
	BoundFLOPs   wide.Sum `json:"bound_flops,omitzero"`
	BoundBytes   wide.Sum `json:"bound_bytes,omitzero"`
	ArithmeticPS wide.Sum `json:"arithmetic_ps,omitzero"`
	MemoryPS     wide.Sum `json:"memory_ps,omitzero"`
}

type operationForm struct {
	Name  string     `json:"name"`
	Side  string     `json:"side,omitempty"`
	Other *otherForm `json:"other,omitempty"`
	sumsForm
	Communications  int64    `json:"communications,omitempty"`
	CommunicationNS wide.Sum `json:"communication_ns,omitzero"`
}

type groupForm struct {
	Values []KeyValue `json:"values"`
	Side   string     `json:"side,omitempty"`
	Other  *otherForm `json:"other,omitempty"`
	sumsForm
}

type deviceForm struct {
	DeviceKey
	Other       *otherForm `json:"other,omitempty"`
	Count       int64      `json:"count"`
	SumNS       wide.Sum   `json:"sum_ns"`
	MemoryBytes wide.Sum   `json:"memory_bytes"`
}

// endForm counts the lines in front of it.
type endForm struct {
	Lines int64 `json:"lines"`
}
