// Package ort reads the profiles of ONNX Runtime: a JSON array of events in Chrome's format. Events of the category
// Node are the operations of a model, events of the category Kernel their work on a GPU.
//
// A run of the model (model_run) is a trace with the run as its root, so that it counts as a request. Events of the
// session before its first run are skipped. An event within another event of its thread is its child: nodes within the
// executor, nodes of a subgraph within the node that runs it (If, Loop, Scan). Nodes on pool threads are children of
// the current run. The reader holds a run until it is complete.
//
// A kernel follows its node and repeats its operation. Nodes of a provider with kernels are the host's view, of side
// "host". Without recorded kernels (CUDA without its profiler, DirectML) the time of a node is the time of the host's
// call. Providers of one device count as one device: XNNPACK and oneDNN are the CPU. Times start at 0: a profile does
// not state when it began.
package ort

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Records reads a profile. name names src in errors, and m selects further arguments, nil by the conventions.
//
// A *[op.SyntaxError] is a bad event or the early end of the profile; any other error is the last value. A record's
// pointers are valid until the next one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		events := traceevent.NewReader(src, name)
		build := attrmap.NewBuilder(m)
		d := &decoder{
			build: build, feed: attrjson.NewFeeder(build), devices: make(map[string]string),
			threads: make(map[string]*thread), launches: make(map[string]bool),
			events: events, held: attrmap.Account(m), yield: yield,
		}
		defer d.held.Free()
		for events.Next() {
			for e, err := range events.Events() {
				if err == nil {
					err = d.event(e)
				}
				_, goesOn := errors.AsType[*op.SyntaxError](err)
				if d.stopped || err != nil && !(yield(op.Record{}, err) && goesOn) {
					return
				}
			}
			d.finish()
		}
		if err := events.Err(); err != nil && !d.stopped {
			yield(op.Record{}, err)
		}
	}
}

type decoder struct {
	events  *traceevent.Reader
	build   *attrmap.Builder
	feed    *attrjson.Feeder
	lex     lexer.Lexer
	strings intern.Table
	dtypes  []string // of the inputs of a node
	shapes  []byte
	devices map[string]string // by provider
	by      string            // op_name of a kernel
	grid    [6]int64          // of a kernel: grid and block, 0 where not stated

	held     budget.Account
	bytes    int64 // held ones
	threads  map[string]*thread
	order    []*thread       // as they come
	last     *thread         // of the last event except kernels
	launches map[string]bool // devices of nodes with kernels
	runs     []*run
	yield    func(op.Record, error) bool
	stopped  bool // no more records are wanted
}

func (d *decoder) give(rec op.Record) { d.stopped = d.stopped || !d.yield(rec, nil) }

// Events of the session before its first run. They contain no node.
var (
	modelLoading = []byte("model_loading")
	sessionInit  = "session_initialization"
)

// webGPU is the device of the provider for WebGPU. Its kernels are events of category Api named NODE&KERNEL_N, at times
// of the device's own clock.
const webGPU = "webgpu"

// The events of a node: the runtime appends the kind of measurement to its name.
var (
	kernelTime  = []byte("_kernel_time")
	fenceBefore = []byte("_fence_before")
	fenceAfter  = []byte("_fence_after")
)

// event takes an event. An error other than an *[op.SyntaxError] is about memory.
func (d *decoder) event(e *traceevent.Event) error {
	category := string(e.Category)
	if i := bytes.IndexByte(e.Name, '&'); i >= 0 && category == "Api" {
		e.Name = bytes.TrimRight(e.Name[i+1:], "0123456789")
		e.Name = bytes.TrimSuffix(e.Name, []byte("_"))
		d.launches[webGPU] = true
		return d.operation(e, webGPU)
	}
	isOperation := category == "Node" || category == "Kernel"
	switch {
	case e.Phase != 'X':
		d.skip(op.SkipMetadata)
	case category == "Session" && (!e.Start.Known || !e.Duration.Known || bytes.HasPrefix(e.Name, modelLoading) ||
		string(e.Name) == sessionInit):
		d.skip(op.SkipAnnotation)
	case category == "Session":
		return d.add(e, held{
			name: scalar.ValidUTF8(d.strings.String(e.Name)), start: e.Start.V, duration: max(0, e.Duration.V),
		})
	case category == "Api", isOperation &&
		(bytes.HasSuffix(e.Name, fenceBefore) || bytes.HasSuffix(e.Name, fenceAfter)):
		d.skip(op.SkipRuntime)
	case isOperation:
		device := ""
		if category == "Kernel" {
			device = defaultGPU
		}
		return d.operation(e, device)
	default:
		d.skip(op.SkipNonOp)
	}
	return nil
}

// operation takes a node, for which device is "", or a kernel of a device.
func (d *decoder) operation(e *traceevent.Event, device string) error {
	kernel := device != ""
	entry := d.entry(e, device)
	switch {
	case entry == nil:
		d.skip(op.SkipNonOp)
	case !e.Duration.Known:
		return d.events.RecordError("node without dur")
	case kernel:
		taken, err := d.addKernel(entry)
		if !taken {
			d.give(op.Record{Entry: entry})
		}
		return err
	case entry.Start.Known:
		return d.add(e, held{entry: entry.Clone(), start: entry.Start.V, duration: entry.Duration})
	default:
		d.give(op.Record{Entry: entry})
	}
	return nil
}

// entry makes the entry of a node or a kernel, nil for what is no operation. It is valid until the next one.
func (d *decoder) entry(e *traceevent.Event, device string) *op.Entry {
	kernel := device != ""
	b := d.build
	b.Reset()
	d.by = ""
	d.grid = [6]int64{}
	if kernel {
		b.Str(attrkey.Name, d.strings.String(e.Name))
		b.Str(attrkey.Device, device)
	} else {
		b.Str(attrkey.Path, d.strings.String(bytes.TrimSuffix(e.Name, kernelTime)))
	}
	b.SetTime(e.Start, e.Duration.V)
	if name, ok := bytes.CutSuffix(e.Name, kernelTime); ok { // until op_name, which nodes of DirectML lack
		b.Str(attrkey.Name, d.strings.String(name))
	}
	d.arguments(e.Args, kernel)
	entry, ok := b.Entry()
	if !ok {
		return nil
	}
	if b.KeepsAll() { // conventional ones are not in the file
		entry.Attrs = slices.DeleteFunc(entry.Attrs,
			func(a op.Attr) bool { return strings.HasPrefix(a.Key, "tensor.") })
	}
	if kernel {
		entry.Kind, entry.KindRule = op.InferDeviceKind(entry.Operation)
		entry.LaunchedBy = d.by
		for i, name := range []string{"grid", "block"} {
			if g := d.grid[3*i:]; g[0] > 0 && g[1] > 0 && g[2] > 0 {
				entry.Attrs = append(entry.Attrs, op.Attr{Key: name, Value: fmt.Sprintf("[%d,%d,%d]", g[0], g[1], g[2]),
					Type: op.AttrJSON})
			}
		}
	}
	return entry
}

func (d *decoder) skip(reason op.SkipReason) {
	d.give(op.Record{Skipped: op.Skipped{Reason: reason, N: 1}})
}

var geometry = [...]string{"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"}

// arguments gives the arguments of a node to the builder:
//
//	{"op_name":"Conv","provider":"CPUExecutionProvider","output_size":"3211264",
//	 "input_type_shape":[{"float":[1,3,224,224]},{"float":[64,3,7,7]}],
//	 "output_type_shape":[{"float":[1,64,112,112]}],…}
//
// and of a kernel {"stream":"7","grid_x":"4",…,"op_name":"Conv"}.
func (d *decoder) arguments(text []byte, kernel bool) {
	if text == nil {
		return
	}
	l, b := &d.lex, d.build
	l.Reset(text)
	for l.Object(); l.More(); {
		key := d.strings.String(l.Key())
		dim := slices.Index(geometry[:], key)
		switch {
		case kernel && key == "op_name" && l.Peek() == '"':
			d.by = scalar.ValidUTF8(d.strings.String(l.Str()))
		case kernel && key == "stream":
			d.feed.Value(l, attrkey.Stream)
		case kernel && dim >= 0 && l.Peek() == '"':
			d.grid[dim], _ = strconv.ParseInt(string(l.Str()), 10, 32)
		case kernel:
			d.feed.Value(l, key)
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

// tensor reads a tensor of a list of types and shapes. An element that is no tensor has no type and the shape null.
//
//	[{"float":[1,3,224,224]},{"int64":[]}]
func (d *decoder) tensor() (dtype string, shape []byte) {
	l := &d.lex
	shape = []byte("null")
	for more := l.AnyObject(); more && l.More(); {
		dtype = scalar.ValidUTF8(d.strings.String(l.Key()))
		shape = l.Raw()
	}
	return dtype, shape
}

func (d *decoder) inputs() {
	d.dtypes = d.dtypes[:0]
	d.shapes = append(d.shapes[:0], '[')
	for d.lex.Array(); d.lex.More(); {
		dtype, shape := d.tensor()
		if len(d.dtypes) > 0 {
			d.shapes = append(d.shapes, ',')
		}
		d.dtypes = append(d.dtypes, dtype)
		d.shapes = append(d.shapes, shape...)
	}
	d.build.SetList(d.build.Target(attrkey.InputShapes), append(d.shapes, ']'))
	d.build.SetStrs(d.build.Target(attrkey.InputDTypes), d.dtypes)
}

func (d *decoder) outputs() {
	d.lex.Array()
	if !d.lex.More() {
		return
	}
	dtype, shape := d.tensor()
	d.build.Str(attrkey.DType, dtype)
	d.build.SetList(d.build.Target(attrkey.OutputShape), shape)
	for d.lex.More() {
		d.lex.Skip()
	}
}

const maxDevices = 64

// The devices of nodes on the host, and of kernels without a known node.
const (
	hostDevice = "cpu"
	defaultGPU = "cuda"
)

// device returns the device of an execution provider: "cpu" for CPUExecutionProvider, "cuda" for CUDAExecutionProvider.
// The profile does not state its number.
func (d *decoder) device(provider []byte) string {
	if name, ok := d.devices[string(provider)]; ok {
		return name
	}
	name := strings.ToLower(strings.TrimSuffix(string(provider), "ExecutionProvider"))
	switch name {
	case "dnnl", "xnnpack", "acl", "armnn": // libraries on the CPU
		name = hostDevice
	case "tensorrt", "nvtensorrtrtx": // libraries on CUDA
		name = defaultGPU
	case "migraphx":
		name = "rocm"
	}
	if len(d.devices) < maxDevices {
		d.devices[string(provider)] = name
	}
	return name
}
