package ort

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Records reads a profile in constant memory. name stands for src in errors,
// and m says which further arguments matter, nil for the conventions.
//
// A *[op.SyntaxError] is an event that could not be read, or the early end of
// the profile; any other error is the last thing yielded. What a record points
// to is valid until the next one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		events := traceevent.NewReader(src, name)
		d := newDecoder(m)
		for e, err := range events.Events() {
			var rec op.Record
			if err == nil {
				rec = d.record(e)
				if rec.Entry != nil && !e.Duration.Known {
					rec, err = op.Record{}, events.RecordError("node without dur")
				}
			}
			if !yield(rec, err) {
				return
			}
		}
		if err := events.Err(); err != nil {
			yield(op.Record{}, err)
		}
	}
}

// decoder makes entries of events. What it returns is overwritten by the next.
type decoder struct {
	build   *attrmap.Builder
	feed    *attrjson.Feeder
	lex     jsontext.Lexer
	strings intern.Table
	tensors tensors
	devices map[string]string // by provider
}

func newDecoder(m *attr.Mapping) *decoder {
	build := attrmap.NewBuilder(m)
	return &decoder{build: build, feed: attrjson.NewFeeder(build), devices: make(map[string]string)}
}

// The events of a node: the runtime appends the kind of measurement to its name.
var (
	kernelTime  = []byte("_kernel_time")
	fenceBefore = []byte("_fence_before")
	fenceAfter  = []byte("_fence_after")
)

// record returns an event as a record.
func (d *decoder) record(e *traceevent.Event) op.Record {
	switch {
	case e.Phase != 'X':
		return skipped(op.SkipMetadata)
	case string(e.Category) == "Session":
		return skipped(op.SkipAnnotation)
	case string(e.Category) != "Node":
		return skipped(op.SkipNonOp)
	case bytes.HasSuffix(e.Name, fenceBefore), bytes.HasSuffix(e.Name, fenceAfter):
		return skipped(op.SkipRuntime)
	}
	b := d.build
	b.Reset()
	b.Str(attrkey.Path, d.strings.String(bytes.TrimSuffix(e.Name, kernelTime)))
	b.SetTime(e.Start, e.Duration.V)
	d.arguments(e.Args)
	entry, ok := b.Entry()
	if !ok {
		return skipped(op.SkipNonOp)
	}
	if b.KeepsAll() { // those of the convention are not the file's
		entry.Attrs = slices.DeleteFunc(entry.Attrs, func(a op.Attr) bool { return strings.HasPrefix(a.Key, "tensor.") })
	}
	return op.Record{Entry: entry}
}

func skipped(reason op.SkipReason) op.Record {
	return op.Record{Skipped: op.Skipped{Reason: reason, N: 1}}
}

// arguments gives the arguments of a node to the builder:
//
//	{"op_name":"Conv","provider":"CPUExecutionProvider","output_size":"3211264",
//	 "input_type_shape":[{"float":[1,3,224,224]},{"float":[64,3,7,7]}],
//	 "output_type_shape":[{"float":[1,64,112,112]}],…}
func (d *decoder) arguments(text []byte) {
	if text == nil {
		return
	}
	l, b := &d.lex, d.build
	l.Reset(text)
	for l.Object(); l.More(); {
		key := d.strings.String(l.Key())
		switch {
		case key == "op_name" && l.Peek() == '"':
			b.Str(attrkey.Name, d.strings.String(l.Str()))
		case key == "provider" && l.Peek() == '"':
			b.Str(attrkey.Device, d.device(l.Str()))
		case key == "output_size":
			d.feed.Value(l, attrkey.Memory)
		case key == "input_type_shape" && l.Peek() == '[':
			d.inputs()
		case key == "output_type_shape" && l.Peek() == '[':
			d.outputs()
		default:
			d.feed.Value(l, key)
		}
	}
}
