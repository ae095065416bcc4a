package kineto

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/op"
)

// MaxHeldBytes bounds the memory held until the end of a trace. It suffices for some 40 million events.
const MaxHeldBytes = 4 << 30

type hostOp struct {
	start, dur int64 // relative to the trace's time base
	external   int64
	thread     uint32 // index of threads
	name       uint32
	inputs     uint32 // shapes and types: index of symbols
	collective uint32 // index of collectives
	extra      uint32 // further arguments: index of symbols
	parent     int32  // the host operator around it, -1 if there is no such operator; set by the join
}

type gradient struct {
	number  int64
	op      int32
	forward uint32 // the thread number of the forward operator, 0 for a forward operator
}

type launch struct {
	correlation, start, dur int64
	bytes                   int64 // 0 where not known: only AMD's calls state it
	thread                  uint32
	op                      int32  // the host operator around it, or -1
	name                    uint32 // index of notes
	matched                 bool   // an operation of a device has its correlation id
}

type deviceOp struct {
	start, dur, correlation, external int64
	bytes                             int64
	name, collective, extra           uint32
	stream, device                    int32
	process                           uint32 // index of symbols
	geometry                          uint32 // index of notes
	maker                             uint16 // index of makers
	memory                            bool   // a copy or set by its category
	has                               known
}

// known tells the set columns of a deviceOp.
type known uint8

const (
	hasCorrelation known = 1 << iota
	hasExternal
	hasBytes
	hasStream
	hasDevice
	hasProcess  // the device is the number of the process
	hasBadValue // of an argument
)

func (d *deviceOp) note(flag known, is bool) {
	if is {
		d.has |= flag
	}
}

// wait tells what a call waits for: a device, a stream, an event of the stream of.
type wait struct {
	correlation        int64
	recorded           int64 // the correlation id of the event's recording, or 0
	device, stream, of op.Int
	process            uint32 // index of notes
}

type collective struct {
	op.Collective
	dtype op.DType
}

// addCollective keeps a collective and returns its number from 1, 0 without a name.
func (t *tables) addCollective(c *collective) uint32 {
	if c.Name == "" {
		return 0
	}
	*t.collectives.add() = *c
	t.groupBytes += int64(len(c.Name) + len(c.Group))
	return uint32(t.collectives.n)
}

// numbered is the number of an operation of a device, or of one that it waited for.
type numbered struct {
	event int64
	op    int32
}

type tables struct {
	symbols         profiler.Symbols
	notes           profiler.Symbols // texts outside the fingerprint: names of ranges and calls, geometry
	threads         symbols.Table[threadKey]
	threadIDs       []string // of threads, "" if unknown
	hostOps         rows[hostOp]
	gradients       rows[gradient] // by operator
	launches        rows[launch]
	deviceOps       rows[deviceOp]
	waits           rows[wait]
	events, awaited rows[numbered]
	power           powers
	ranges          rows[profiler.Range] // annotations and modules of PyTorch, by notes
	frames          rows[profiler.Range] // of Python
	steps           marks.Steps          // processes are numbers of symbols, names of notes
	marks           marks.Names          // of notes
	makers          []string
	collectives     rows[collective]
	groupBytes      int64 // of the names of collectives
	innerFirst      bool  // set if inner operators precede outer ones of the same time and thread
}

type threadKey struct{ process, thread uint32 }

func (t *tables) addThread(e *traceevent.Event) uint32 {
	n := t.threads.ID(threadKey{t.symbols.Add(e.PID), t.symbols.Add(e.TID)})
	if int(n) == len(t.threadIDs) {
		id := e.Thread
		if !id.Known {
			id = parseInt(bytes.Trim(e.TID, `"`))
		}
		text := ""
		if id.Known && id.V >= 0 {
			text = strconv.FormatInt(id.V, 10)
		}
		t.threadIDs = append(t.threadIDs, text)
	}
	return uint32(n)
}

func (t *tables) processOf(thread uint32) uint32 { return t.threads.Values[thread].process }

// makerNumber returns the number of a maker from 1, or 0 for CUDA and AMD.
func (t *tables) makerNumber(name string) uint16 {
	if name == "" {
		return 0
	}
	i := slices.Index(t.makers, name)
	if i < 0 {
		if len(t.makers) == maxCategories {
			return 0
		}
		i = len(t.makers)
		t.makers = append(t.makers, name)
	}
	return uint16(i) + 1
}

func (t *tables) heldBytes() int64 {
	const place = unsafe.Sizeof(int32(0)) // in the order of the join
	rows := (t.ranges.n+t.frames.n)*int(unsafe.Sizeof(profiler.Range{})+place) + t.hostOps.n*int(unsafe.Sizeof(hostOp{})+place) +
		t.launches.n*int(unsafe.Sizeof(launch{})+place) + t.deviceOps.n*int(unsafe.Sizeof(deviceOp{})) +
		t.gradients.n*int(unsafe.Sizeof(gradient{})+place) +
		t.waits.n*int(unsafe.Sizeof(wait{})+4*place) + // with its place in an index
		5*t.events.n*int(unsafe.Sizeof(numbered{})) + // too
		t.awaited.n*int(unsafe.Sizeof(numbered{})) + t.power.bytes() + len(t.steps)*int(unsafe.Sizeof(marks.Step{})) +
		len(t.marks)*int(unsafe.Sizeof(uintptr(0))) + t.collectives.n*int(unsafe.Sizeof(collective{}))
	const idBytes = 32 // of a thread
	rows += len(t.threadIDs) * idBytes
	return int64(rows) + t.threads.Bytes(nil) + t.symbols.Bytes() + t.notes.Bytes() + t.groupBytes
}

const chunkRows = 1 << chunkBits

const chunkBits = 10

// rows is a list that grows without copies: a trace takes no more memory than its rows.
type rows[T any] struct {
	chunks []*[chunkRows]T
	n      int
}

func (r *rows[T]) add() *T {
	if r.n == len(r.chunks)*chunkRows {
		r.chunks = append(r.chunks, new([chunkRows]T))
	}
	r.n++
	return r.at(int32(r.n - 1))
}

func (r *rows[T]) at(i int32) *T { return &r.chunks[i>>chunkBits][i&(chunkRows-1)] }

type category uint8

const (
	catOther category = iota // not one of Kineto's
	catHostOp
	catKernel
	catMemory // a copy or a set on the device
	catRuntime
	catAnnotation
	catPython
	catSync
	catQueue // of Ascend's launches, which another thread makes
)

// categoryOf classifies a complete event. The first versions of the profiler capitalised the categories.
func categoryOf(cat []byte) category {
	switch string(cat) {
	case "cpu_op", "Operator":
		return catHostOp
	case "kernel", "Kernel":
		return catKernel
	case "gpu_memcpy", "gpu_memset", "Memcpy", "Memset":
		return catMemory
	case "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "Runtime":
		return catRuntime
	case "user_annotation", "gpu_user_annotation", "Trace":
		return catAnnotation
	case "python_function":
		return catPython
	case "cuda_sync", "hip_sync", "overhead":
		return catSync
	case "enqueue", "dequeue":
		return catQueue
	}
	return otherCategory(string(cat))
}

// otherCategory classifies a complete event of an unlisted category, by PyTorch's naming of further devices:
// xpu_driver, mtia_ccp_events, hpu_op.
func otherCategory(name string) category {
	switch {
	case name == "gpu_op": // unitrace's: see trackRows
		return catOther
	case strings.HasSuffix(name, "_runtime"), strings.HasSuffix(name, "_driver"):
		return catRuntime
	case strings.HasSuffix(name, "_memcpy"), strings.HasSuffix(name, "_memset"):
		return catMemory
	case strings.HasSuffix(name, "_ccp_events"), strings.HasSuffix(name, "kernel"), strings.HasPrefix(name, "gpu_"):
		return catKernel
	}
	for _, device := range []string{"mtia_workload", "hpu_", "npu_", "privateuse1_"} {
		if strings.HasPrefix(name, device) {
			return catKernel
		}
	}
	return catOther
}

// makerOf returns the maker of a device by the category of its events, such as mtia. It is "" for CUDA and AMD.
func makerOf(cat []byte) string {
	switch string(cat) {
	case "kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset", "concurrent_kernel":
		return ""
	}
	name, _, _ := strings.Cut(string(cat), "_")
	if name == "gpu" {
		return ""
	}
	return name
}

const maxCategories = 64

// skipReason returns why a phase is neither an operation nor one end of a span, "" for one that is.
func skipReason(phase byte) op.SkipReason {
	switch phase {
	case 'X', 'B', 'E':
		return ""
	case 's', 't', 'f':
		return op.SkipFlow
	case 'M', 'I', 'i', 'R', 'C', 'P', 'c', 'N', 'O', 'D', 'V', 'v', '(', ')':
		return op.SkipMetadata
	}
	return op.SkipUnknownRecord // such as asynchronous events: they have no thread and no duration
}
