package kineto

import (
	"unsafe"

	"github.com/optrace/optrace/op"
)

// MaxHeldBytes bounds the memory held for a trace until its end. It suffices for
// some 40 million events.
const MaxHeldBytes = 4 << 30

// hostOp is an operator on the host.
type hostOp struct {
	start, dur int64 // relative to the trace's time base
	external   int64
	thread     uint32 // index of threads
	name       uint32
	inputs     uint32 // shapes and types: index of symbols
	collective uint32 // index of collectives
	extra      uint32 // further arguments: index of symbols
	parent     int32  // the host operator around it, -1 for none: set by the join
}

// launch is a call of the device's runtime.
type launch struct {
	correlation int64
	start       int64
	bytes       int64 // 0 where not known: only AMD's calls state it
	thread      uint32
	op          int32 // the host operator around it, -1 for none
}

// deviceOp is an event on a device.
type deviceOp struct {
	start, dur  int64
	correlation int64
	external    int64
	bytes       int64
	name        uint32
	collective  uint32
	extra       uint32
	stream      int32
	device      int32
	process     uint32 // index of symbols
	memory      bool   // a copy or set by its category
	has         known
}

// known says which optional columns of a deviceOp are set.
type known uint8

const (
	hasCorrelation known = 1 << iota
	hasExternal
	hasBytes
	hasStream
	hasDevice
)

func (d *deviceOp) note(flag known, is bool) {
	if is {
		d.has |= flag
	}
}

// step is one profiler step as one process saw it.
type step struct {
	process    uint32
	start, end int64
	number     int64
}

// collective holds the arguments of a collective operation.
type collective struct {
	op.Collective
	dtype op.DType
}

// tables holds the rows of a trace until its end.
type tables struct {
	symbols     symbols
	threads     threads
	hostOps     []hostOp
	launches    []launch
	deviceOps   []deviceOp
	steps       []step
	collectives []collective
}

// heldBytes returns how much the tables hold.
func (t *tables) heldBytes() int64 {
	rows := len(t.hostOps)*int(unsafe.Sizeof(hostOp{})+unsafe.Sizeof(uint32(0))) + // and the order of the join
		len(t.launches)*int(unsafe.Sizeof(launch{})) +
		len(t.deviceOps)*int(unsafe.Sizeof(deviceOp{})) +
		len(t.steps)*int(unsafe.Sizeof(step{})) +
		len(t.collectives)*int(unsafe.Sizeof(collective{}))
	return int64(rows) + t.symbols.bytes
}

// addCollective keeps c and returns its index, 0 for none.
func (t *tables) addCollective(c *collective) uint32 {
	if *c == (collective{}) {
		return 0
	}
	if t.collectives == nil {
		t.collectives = make([]collective, 1) // index 0 is none
	}
	t.collectives = append(t.collectives, *c)
	return uint32(len(t.collectives) - 1)
}

// threads numbers the threads of the trace.
type threads struct {
	index     map[threadKey]uint32
	processes []uint32 // of each thread
}

// threadKey is the process and thread id of an event, as numbers of symbols.
type threadKey struct{ process, thread uint32 }

// addThread returns the number of the thread with the ids of an event.
func (t *tables) addThread(pid, tid []byte) uint32 {
	key := threadKey{t.symbols.add(pid), t.symbols.add(tid)}
	if n, ok := t.threads.index[key]; ok {
		return n
	}
	if t.threads.index == nil {
		t.threads.index = make(map[threadKey]uint32)
	}
	n := uint32(len(t.threads.processes))
	t.threads.index[key] = n
	t.threads.processes = append(t.threads.processes, key.process)
	return n
}

// symbols numbers texts: equal ones get the same number. Number 0 is "".
type symbols struct {
	index map[string]uint32
	texts []string
	bytes int64
}

// symbolBytes is the memory of a text beside its bytes: its headers in the index
// and in the list, and its share of the index's slack.
const symbolBytes = 56

func (s *symbols) add(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	if n, ok := s.index[string(text)]; ok { // does not allocate
		return n
	}
	if s.index == nil {
		s.index = make(map[string]uint32)
		s.texts = make([]string, 1)
	}
	n := uint32(len(s.texts))
	name := string(text)
	s.index[name] = n
	s.texts = append(s.texts, name)
	s.bytes += int64(len(name)) + symbolBytes
	return n
}

// text returns the text of a number.
func (s *symbols) text(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.texts[n]
}
