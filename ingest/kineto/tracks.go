package kineto

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// track tells what the events of other profilers are, by their category and the names of their process and thread.
type track struct {
	source  string // the file that sets the names
	pattern *regexp.Regexp
	is      category // catOther for tracks that repeat others in sum
	maker   string   // of the device, unless the pattern has it
	device  numbering
	// isCoarse is set for a track that repeats finer tracks of its device.
	isCoarse bool
}

// numbering tells the number of a device whose events and pattern do not state it.
type numbering uint8

const (
	notNumbered numbering = iota
	byOrder               // each process is a device
	byProcess             // the last five bits of the process's number
)

// row makes a row of the table. The category is a pattern; names is one of the process and thread: PROCESS|THREAD.
func row(source, category, names string, is category, maker string) track {
	return track{source: source, pattern: regexp.MustCompile(`^(?:` + category + `)\|(?:` + names + `)`), is: is, maker: maker}
}

func (t track) coarse() track { t.isCoarse = true; return t }

func (t track) numbered(n numbering) track { t.device = n; return t }

// Sources of several rows.
const (
	cuspy     = "pytorch/pytorch torch/profiler/_cuspy"
	xprof     = "openxla/xla xla/tsl/profiler/utils/xplane_schema.cc"
	tf1       = "tensorflow/tensorflow tensorflow/core/profiler/internal/gpu/device_tracer_cuda.cc, python/client/timeline.py"
	rocprof   = "ROCm/rocprofiler bin/tblextr.py"
	rocprofv3 = "ROCm/rocprofiler-sdk source/lib/output/generatePerfetto.cpp"
	msprof    = "Ascend/msprof analysis/viewer/training/msprof_timeline.py, analysis/common_func/trace_view_manager.py"
	unitrace  = "intel/pti-gpu tools/unitrace/src/chromelogger.h"
)

// trackRows is the table of tracks; the first match counts. Groups: maker, device and stream.
var trackRows = []track{
	row("pytorch/kineto libkineto/include/ActivityType.h", `.*_sync|.*_event`, ``, catSync, ""),
	row(cuspy, `graph_event_node`, ``, catSync, ""),
	row(cuspy, `graph_host_node`, ``, catHostOp, ""),
	row(rocprofv3, `kernel_dispatch`, ``, catKernel, "gpu"),
	row(rocprofv3, `memory_copy`, ``, catMemory, "gpu"),
	row(rocprofv3, `hip_api|hsa_api|rccl_api`, ``, catRuntime, ""),
	row(rocprofv3, `marker_api`, ``, catAnnotation, ""),
	row(xprof, ``, `/device:(?P<maker>[A-Z]+):(?P<device>\d+)[^|/]*\|Stream #(?P<stream>\d+)`, catKernel, ""),
	row(xprof, ``, `/device:(?P<maker>[A-Z]+):(?P<device>\d+)[^|/]*\|(?:(?:Async )?XLA Ops|Sparse Core Ops|)$`, catKernel,
		"").coarse(),
	row(xprof, ``, `/device:[^|/]*\|`, catOther, ""),
	row(xprof, ``, `/host:CPU\|`, catHostOp, ""),
	row(tf1, `Op`, `[^|]*/(?:device:)?(?P<maker>GPU|gpu):(?P<device>\d+)/stream:(?P<stream>\d+)`, catKernel, ""),
	row(tf1, `Op`, `[^|]*/(?:device:)?(?P<maker>GPU|gpu):(?P<device>\d+)/stream:all`, catKernel, "").coarse(),
	row(tf1, `Op`, `[^|]*/(?:device:)?(?P<maker>GPU|gpu):(?P<device>\d+)/memcpy`, catMemory, "").coarse(),
	row(tf1, `Op`, `/(?:job|host):[^|]* Compute\|`, catHostOp, ""),
	row(rocprof, ``, `(?:\d+ )?GPU(?P<device>\d+)(?: r\d+)?\|`, catKernel, "gpu"),
	row(rocprof, ``, `(?:\d+ )?COPY(?: r\d+)?\|`, catMemory, "gpu"),
	row(rocprof, ``, `(?:\d+ )?CPU (?:HIP|HSA|KFD) API(?: r\d+)?\|`, catRuntime, ""),
	row(rocprof, ``, `(?:\d+ )?Markers and Ranges(?: r\d+)?\|`, catAnnotation, ""),
	row(msprof, ``, `Ascend Hardware\|(?:Stream (?P<stream>\d+))?`, catKernel, "npu").numbered(byProcess),
	row(msprof, ``, `CANN\|`, catRuntime, ""),
	row(unitrace, `gpu_op`, ``, catKernel, "xpu").numbered(byOrder),
}

// Task types of Ascend's hardware that are no operations, and those that are copies: hicann/runtime
// src/runtime/feature/src/common/profiling_agent.cc.
var (
	waitTasks = regexp.MustCompile(`EVENT|NOTIFY|WAIT|CAPTURE|PLACE_HOLDER|MAINTENANCE|CREATE_STREAM|PROFILING`)
	copyTasks = regexp.MustCompile(`MEMCPY|SDMA|PCIE_DMA`)
)

// place is the track of a thread.
type place struct {
	*track         // nil for none
	maker          string
	device, stream int32 // -1 for none
}

// tracks finds the places of events. A name usually precedes the events of its process.
type tracks struct {
	names  map[string]string // by process, and by process and thread
	places map[string]place  // by category, process and thread
	orders map[string]int32  // the numbers of threads and processes without one, from 0
	counts map[string]int32  // of these, by what they are numbered in
	late   []lateEvent
	bytes  int64
	key    []byte
	coarse bool // an operation is of a coarse track
}

// lateEvent is an event whose process has no name yet.
type lateEvent struct {
	start, dur op.Int
	texts      [5]string // name, category, process, thread, arguments
}

const (
	maxLateBytes = 16 << 20
	nameBytes    = 64
)

// name takes the name of a process or a thread.
func (t *tracks) name(e *traceevent.Event) {
	key := string(e.PID)
	switch string(e.Name) {
	case "process_name":
	case "thread_name":
		key += "|" + string(e.TID)
	default:
		return
	}
	var l lexer.Lexer
	l.Reset(e.Args)
	for l.Object(); l.More(); {
		if string(l.Key()) != "name" {
			l.Skip()
			continue
		}
		if t.names == nil {
			t.names = make(map[string]string)
		}
		text := string(l.AnyStr())
		t.bytes += int64(len(key)+len(text)-len(t.names[key])) + nameBytes
		t.names[key] = text
		clear(t.places)
	}
}

// of returns the place of an event.
func (t *tracks) of(e *traceevent.Event) place {
	t.key = append(append(append(append(append(t.key[:0], e.Category...), '|'), e.PID...), '|'), e.TID...)
	if p, ok := t.places[string(t.key)]; ok {
		return p
	}
	key := string(t.key)
	thread := key[len(e.Category)+1:]
	text := string(e.Category) + "|" + t.names[string(e.PID)] + "|" + t.names[thread]
	p := place{device: -1, stream: -1}
	for i := range trackRows {
		found := trackRows[i].pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		p.track = &trackRows[i]
		p.maker = p.track.maker
		for i, name := range p.pattern.SubexpNames() {
			switch n := parseInt([]byte(found[i])); {
			case name == "maker":
				p.maker = strings.ToLower(found[i])
			case name == "device" && isIndex(n):
				p.device = int32(n.V)
			case name == "stream" && isIndex(n):
				p.stream = int32(n.V)
			}
		}
		pid := string(e.PID)
		switch n := parseInt(e.PID); {
		case p.track.device == byOrder:
			p.device = t.order(p.maker, pid)
		case p.track.device == byProcess && n.Known:
			p.device = int32(n.V & 31)
		}
		if n := parseInt(e.TID); p.stream < 0 && p.is == catKernel && isIndex(n) {
			p.stream = int32(n.V)
		} else if p.stream < 0 && p.is == catKernel {
			p.stream = t.order("|"+pid, thread)
		}
		break
	}
	return remember(&t.places, key, p)
}

// order returns the number of a process or thread among those numbered in the same list.
func (t *tracks) order(list, key string) int32 {
	n, ok := t.orders[list+"|"+key]
	if !ok {
		if t.orders == nil {
			t.orders = make(map[string]int32)
			t.counts = make(map[string]int32)
		}
		n = t.counts[list]
		t.orders[list+"|"+key] = n
		t.counts[list]++
		t.bytes += int64(len(list)+len(key)) + 2*nameBytes
	}
	return n
}

// hold keeps an event until its process has a name, if there is memory for it.
func (t *tracks) hold(e *traceevent.Event) bool {
	if _, ok := t.names[string(e.PID)]; ok || len(e.PID) == 0 || t.bytes > maxLateBytes {
		return false
	}
	l := lateEvent{start: e.Start, dur: e.Duration}
	for i, text := range [...][]byte{e.Name, e.Category, e.PID, e.TID, e.Args} {
		l.texts[i] = string(text)
		t.bytes += int64(len(text)) + nameBytes
	}
	t.late = append(t.late, l)
	return true
}

// placeLate takes the held events once all names are known.
func (r *reader) placeLate() {
	for i := range r.tracks.late {
		l := &r.tracks.late[i]
		e := traceevent.Event{
			Start: l.start, Duration: l.dur, Name: []byte(l.texts[0]), Category: []byte(l.texts[1]), PID: []byte(l.texts[2]),
			TID: []byte(l.texts[3]),
		}
		if l.texts[4] != "" {
			e.Args = []byte(l.texts[4])
		}
		if !r.placed(&e) {
			r.skipCategory(e.Category)
		}
	}
	r.tracks.late = nil
}

// placed takes an event of another profiler and reports whether its track is known.
func (r *reader) placed(e *traceevent.Event) bool {
	p := r.tracks.of(e)
	if p.track == nil {
		return false
	}
	switch p.is {
	case catKernel, catMemory:
		r.trackOp(e, &p)
	case catHostOp:
		if bytes.HasPrefix(e.Name, []byte("$")) { // a frame of JAX's Python tracer
			r.skipped[op.SkipPython]++
			break
		}
		r.readArgs(e)
		if a := &r.args; a.hostThread != nil {
			e.PID = a.hostProcess
			e.TID = a.hostThread
		}
		e.ArgsRead = true
		r.hostOp(e)
	case catRuntime:
		r.launch(e)
		r.skipped[op.SkipRuntime]++
	case catAnnotation:
		r.addMark(e)
		r.addRange(e)
		r.skipped[op.SkipAnnotation]++
	case catSync:
		r.skipped[op.SkipRuntime]++
	default:
		r.skipCategory(e.Category)
	}
	return true
}

// trackOp adds an operation of a device.
func (r *reader) trackOp(e *traceevent.Event, p *place) {
	r.readArgs(e)
	e.ArgsRead = true
	a := &r.args
	if waitTasks.Match(a.task) {
		r.skipped[op.SkipRuntime]++
		return
	}
	agent := cmp.Or(lastNumber(a.agent), lastNumber(a.toAgent))
	if bytes.Contains(e.Name, []byte("DEVICE_TO_HOST")) {
		agent = lastNumber(a.fromAgent)
	}
	a.device = cmp.Or(a.device, agent)
	a.stream = cmp.Or(a.stream, a.queue)
	stated := a.device.Known
	r.deviceOp(e, p.is == catMemory || copyTasks.Match(a.task))
	d := r.tables.deviceOps.at(int32(r.tables.deviceOps.n - 1))
	d.maker = r.tables.makerNumber(p.maker)
	if !stated {
		d.device = p.device
		d.has &^= hasProcess
		d.has |= hasDevice
	}
	if d.has&hasStream == 0 && p.stream >= 0 {
		d.stream = p.stream
		d.has |= hasStream
	}
	d.note(isCoarse, p.isCoarse)
	r.tracks.coarse = r.tracks.coarse || p.isCoarse
}

// lastNumber returns the number at the end of a text such as "Agent-0".
func lastNumber(text []byte) op.Int {
	text = bytes.Trim(text, `"`)
	return parseInt(text[bytes.LastIndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })+1:])
}

// dropCoarse removes the operations that finer tracks of their device repeat, and returns their number.
func (t *tables) dropCoarse() int64 {
	key := func(d *deviceOp) deviceKey { return deviceKey{d.maker, d.device} }
	fine := make(map[deviceKey]bool)
	for i := range int32(t.deviceOps.n) {
		if d := t.deviceOps.at(i); d.has&isCoarse == 0 {
			fine[key(d)] = true
		}
	}
	n := t.deviceOps.n
	t.deviceOps.n = 0
	for i := range int32(n) {
		if d := t.deviceOps.at(i); d.has&isCoarse == 0 || !fine[key(d)] {
			*t.deviceOps.at(int32(t.deviceOps.n)) = *d
			t.deviceOps.n++
		}
	}
	return int64(n - t.deviceOps.n)
}
