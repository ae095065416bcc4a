package read

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// line is a line of entries JSONL with the fields of the files. A number is -1 if the line lacks
// it, so that no field needs a pointer.
type line struct {
	Step           int64      `json:"step"`
	Operation      string     `json:"operation"`
	DeviceID       string     `json:"device_id"`
	InputShapes    [][]int64  `json:"input_shapes"`
	OutputShape    []int64    `json:"output_shape"`
	OutputElements int64      `json:"output_elements"`
	MemoryBytes    int64      `json:"memory_bytes"`
	Kind           string     `json:"kind"`
	KindRule       string     `json:"kind_rule"`
	DType          string     `json:"dtype"`
	Start          int64      `json:"start_unix_ns"`
	Duration       int64      `json:"duration_ns"`
	Stream         int64      `json:"stream"`
	Rank           int64      `json:"rank"`
	FLOPs          int64      `json:"flops"`
	TraceID        string     `json:"trace_id"`
	SpanID         string     `json:"span_id"`
	ParentSpanID   string     `json:"parent_span_id"`
	Root           string     `json:"root"`
	RootSpanID     string     `json:"root_span_id"`
	Service        string     `json:"service"`
	Scope          string     `json:"scope"`
	Path           string     `json:"path"`
	Collective     collective `json:"collective"`
}

type collective struct {
	Name      string `json:"name"`
	Group     string `json:"group"`
	GroupSize int64  `json:"group_size"`
	Sequence  int64  `json:"sequence"`
}

const missing = -1 // the value of an absent number

// readLines reads the lines of a file with a decoder of JSON.
func readLines(decode func(text []byte, to any) error) reader {
	return func(path string) (*analyze.Report, error) {
		p := newProfile()
		var e op.Entry
		var coll op.Collective
		var shapes []op.Shape
		err := each(path, bufio.ScanLines, func(text []byte) error {
			l := line{
				Step: missing, OutputElements: missing, MemoryBytes: missing, Stream: missing, Rank: missing,
				FLOPs: missing, Collective: collective{GroupSize: missing, Sequence: missing},
			}
			if err := decode(text, &l); err != nil {
				return err
			}
			if l.Operation == "" {
				return nil // a record of another kind
			}
			shapes = shapes[:0]
			for _, s := range l.InputShapes {
				shapes = append(shapes, s)
			}
			e = op.Entry{
				Step: known(l.Step), Operation: l.Operation, DeviceID: l.DeviceID, Stream: known(l.Stream),
				Rank: known(l.Rank), InputShapes: shapes, OutputShape: l.OutputShape, DType: op.DType(l.DType),
				FLOPs: known(l.FLOPs), Path: l.Path, Start: op.Known(l.Start), Duration: l.Duration, Root: l.Root,
				OutputElements: known(l.OutputElements), MemoryBytes: known(l.MemoryBytes),
				Service: l.Service, Scope: l.Scope,
			}
			e.Kind, _ = op.ParseKind(l.Kind)
			e.KindRule = l.rule()
			if c := l.Collective; c.Name != "" {
				coll = op.Collective{
					Name: c.Name, Group: c.Group, GroupSize: known(c.GroupSize), Sequence: known(c.Sequence),
				}
				e.Collective = &coll
			}
			if err := errors.Join(id(e.TraceID[:], l.TraceID), id(e.SpanID[:], l.SpanID),
				id(e.ParentSpanID[:], l.ParentSpanID), id(e.RootSpanID[:], l.RootSpanID)); err != nil {
				return err
			}
			p.Add(&e)
			return nil
		})
		return analyze.ReportOn(p), err
	}
}

// rule returns the rule behind the kind. Lines state it only if it is unusual.
func (l *line) rule() op.KindRule {
	switch {
	case l.KindRule == op.RuleName.String():
		return op.RuleName
	case l.Kind == op.KindCompute.String():
		return op.RuleDefault
	case l.Kind == op.KindMemory.String():
		return op.RuleName
	}
	return op.RuleAttribute
}

func known(n int64) op.Int {
	if n == missing {
		return op.Int{}
	}
	return op.Known(n)
}

func id(dst []byte, text string) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return fmt.Errorf("%q is no id of %d bytes", text, len(dst))
	}
	_, err := hex.Decode(dst, []byte(text))
	return err
}
