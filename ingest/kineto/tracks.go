package kineto

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"unsafe"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// track tells what events of other profilers are. The pattern is one of CATEGORY|PROCESS|THREAD, with the names of an
// event's process and thread; its groups are the numbers of the device and the stream.
type track struct {
	pattern *regexp.Regexp
	is      category // catOther for tracks that repeat others
	maker   string   // of the device
}

func row(pattern string, is category, maker string) track {
	return track{regexp.MustCompile("^(?:" + pattern + ")"), is, maker}
}

// trackRows is the table of tracks; the first match counts. docs/formats.md has the sources.
var trackRows = []track{
	row(`(?:(?:cuda|hip|xpu|mtia|hpu|npu|privateuse1)_(?:sync|event)|graph_event_node)\|`, catSync, ""),
	row(`kernel_dispatch\|`, catKernel, "gpu"),
	row(`memory_copy\|`, catMemory, "gpu"),
	row(`(?:hip|hsa|rccl)_api\|`, catRuntime, ""),
	row(`gpu_op\|`, catKernel, "xpu"),
	row(`\|/device:GPU:(?P<device>\d+)\|Stream #(?P<stream>\d+)`, catKernel, "gpu"),
	row(`\|/device:TPU:(?P<device>\d+)[^|]*\|(?:(?:Async )?XLA Ops|Sparse Core Ops)$`, catKernel, "tpu"),
	row(`\|/device:[^|]*\|`, catOther, ""),
	row(`\|/host:CPU\||graph_host_node\|`, catHostOp, ""),
	row(`Op\|[^|]*/(?:device:)?(?i:GPU):(?P<device>\d+)/stream:all`, catKernel, "gpu"), // all other streams
	row(`Op\|[^|]*/(?:device:)?(?i:GPU):(?P<device>\d+)/memcpy`, catMemory, "gpu"),
	row(`Op\|[^|]*/stream:`, catOther, ""),
	row(`Op\|/(?:job|host):[^|]* Compute\|`, catHostOp, ""),
	row(`\|(?:\d+ )?GPU(?P<device>\d+)(?: r\d+)?\|`, catKernel, "gpu"),
	row(`\|(?:\d+ )?COPY(?: r\d+)?\|`, catMemory, "gpu"),
	row(`\|(?:\d+ )?CPU (?:HIP|HSA|KFD) API(?: r\d+)?\||\|CANN\|`, catRuntime, ""),
	row(`\|Ascend Hardware\|(?:Stream (?P<stream>\d+))?`, catKernel, "npu"),
}

// Types of Ascend's tasks that are no operations, and copies.
var (
	waitTasks = regexp.MustCompile(`EVENT|NOTIFY|WAIT|CAPTURE|PLACE_HOLDER|MAINTENANCE|CREATE_STREAM|PROFILING|TIMEOUT_SET`)
	copyTasks = regexp.MustCompile(`MEMCPY|SDMA|PCIE_DMA`)
)

// place is the track of a thread, nil if it is unknown.
type place struct {
	*track
	device, stream op.Int // -1 for none
}

type tracks struct {
	names  map[string]string   // by process, and by process and thread
	places map[string]place    // by category, process and thread
	orders map[string][]string // processes and threads without a number, by what they are numbered in
	bytes  int64
	key    []byte // of places
}

// name takes the name of a process or a thread. It precedes the events.
func (t *tracks) name(e *traceevent.Event) {
	key := numberOf(e.PID)
	if string(e.Name) == "thread_name" {
		key += "|" + numberOf(e.TID)
	} else if string(e.Name) != "process_name" {
		return
	}
	var args struct{ Name string }
	_ = json.Unmarshal(e.Args, &args) // no name on errors
	t.names[key] = args.Name
	t.bytes += int64(len(key) + len(args.Name) + 64) // with their places in the map
	t.places = nil
}

// numberOf returns the text of a process or a thread. rocprof writes them as numbers in names and as texts in events.
func numberOf(id []byte) string { return string(bytes.Trim(id, `"`)) }

// of returns the place of an event.
func (t *tracks) of(e *traceevent.Event) (p place) {
	t.key = append(append(append(append(append(t.key[:0], e.Category...), '|'), e.PID...), '|'), e.TID...)
	if p, ok := t.places[string(t.key)]; ok {
		return p
	}
	process := numberOf(e.PID)
	thread := process + "|" + numberOf(e.TID)
	t.bytes += 64 // of its number
	text := []byte(string(e.Category) + "|" + t.names[process] + "|" + t.names[thread])
	i := slices.IndexFunc(trackRows, func(row track) bool { return row.pattern.Match(text) })
	if i >= 0 {
		p.track = &trackRows[i]
		found := p.pattern.FindSubmatch(text)
		number := func(group string) op.Int { return parseInt(found[max(0, p.pattern.SubexpIndex(group))]) }
		p.device, p.stream = cmp.Or(number("device"), op.Known(-1)), cmp.Or(number("stream"), parseInt(e.TID))
		switch p.maker {
		case "npu":
			p.device = op.Known(parseInt([]byte(process)).V & 31)
		case "xpu":
			p.device = t.order("", process)
		}
		if !profiler.Index(p.stream).Known {
			p.stream = t.order(process, thread)
		}
	}
	return remember(&t.places, string(t.key), p)
}

// unnamed returns the place of an event of Ascend's hardware before the names, as msprof writes them.
func unnamed(e *traceevent.Event) (p place) {
	if len(e.Category) > 0 || !bytes.Contains(e.Args, []byte(`"Task Type"`)) {
		return p
	}
	p.track = &trackRows[len(trackRows)-1]
	p.device = op.Known(parseInt([]byte(numberOf(e.PID))).V & 31)
	p.stream = cmp.Or(parseInt([]byte(numberOf(e.TID))), op.Known(-1))
	return p
}

// order returns the number of a process or thread in a list, -1 in a long one.
func (t *tracks) order(list, key string) op.Int {
	if all := t.orders[list]; !slices.Contains(all, key) && len(all) < 1<<10 {
		t.orders[list] = append(all, key)
	}
	return op.Known(int64(slices.Index(t.orders[list], key)))
}

// placed takes an event of another profiler and reports whether its track is known.
func (r *reader) placed(e *traceevent.Event) bool {
	p := r.tracks.of(e)
	if p.track == nil {
		p = unnamed(e)
	}
	if p.track == nil {
		return false
	}
	r.args.parse(e.Args)
	e.ArgsRead = true
	begin, end := r.args.begin, r.args.end
	if begin.Known && end.V >= begin.V && begin.V/1000 == e.Start.V/1000 { // rocprof cuts microseconds from these
		e.Start, e.Duration = begin, op.Known(end.V-begin.V)
	}
	switch a := &r.args; {
	case p.is == catSync, waitTasks.Match(a.task):
		r.skipped[op.SkipRuntime]++
	case p.is == catRuntime:
		if r.launch(e); a.correlation.V == 0 {
			r.longCall(e)
		}
		r.skipped[op.SkipRuntime]++
	case p.is == catHostOp && bytes.HasPrefix(e.Name, []byte("$")): // a frame of JAX's Python tracer
		r.skipped[op.SkipPython]++
	case p.is == catHostOp:
		if a.hostProcess != nil {
			e.PID = a.hostProcess // its steps
		}
		if a.hostThread != nil {
			e.TID = a.hostThread
		}
		r.hostOp(e)
	case p.is == catOther:
		r.skipCategory(e.Category)
	default:
		agent := cmp.Or(lastNumber(a.agent), lastNumber(a.toAgent))
		if bytes.Contains(e.Name, []byte("DEVICE_TO_HOST")) {
			agent = lastNumber(a.fromAgent)
		}
		a.device = cmp.Or(a.device, agent, p.device)
		if p.is == catKernel {
			a.stream = cmp.Or(a.stream, p.stream)
		}
		r.deviceOp(e, p.is == catMemory || copyTasks.Match(a.task), p.maker)
	}
	return true
}

// lastNumber returns the number at the end of a text such as "Agent-0".
func lastNumber(text []byte) op.Int {
	text = bytes.Trim(text, `"`)
	return parseInt(text[len(bytes.TrimRight(text, "0123456789")):])
}

// powers are samples of the power of devices, by device. They come from counters such as Cuspy's "Power (W)" of the
// process "GPU 0 Counters". A sample is the mean power since the one before.
type powers struct {
	of     map[int32][]powerSample
	n      int
	sorted bool
}

type powerSample struct {
	at     int64
	watts  float64
	joules float64 // times 1e9, of the samples from the first one to this one
}

func (p *powers) bytes() int { return 2 * p.n * int(unsafe.Sizeof(powerSample{})) }

// Counters of power, and the processes of the counters of a device.
var (
	powerCounter = regexp.MustCompile(`^(?i:gpu )?Power \((m|k)?W\)$`)
	powerProcess = regexp.MustCompile(`^"GPU (\d{1,4}) Counters"$`)
)

// add takes a counter.
func (p *powers) add(e *traceevent.Event) {
	if !bytes.Contains(e.Name, []byte("Power")) {
		return
	}
	name := powerCounter.FindSubmatch(e.Name)
	process := powerProcess.FindSubmatch(e.PID)
	if name == nil || process == nil || e.Args == nil || !e.Start.Known {
		return
	}
	var l lexer.Lexer
	l.Reset(e.Args)
	l.Object()
	if !l.More() {
		return
	}
	l.Key()
	watts, err := strconv.ParseFloat(string(l.AnyNumber()), 64)
	const most = 1e6
	watts *= map[string]float64{"": 1, "m": 1e-3, "k": 1e3}[string(name[1])]
	if err != nil || !(watts >= 0 && watts < most) {
		return
	}
	if p.of == nil {
		p.of = make(map[int32][]powerSample)
	}
	device := int32(parseInt(process[1]).V)
	p.of[device] = append(p.of[device], powerSample{at: e.Start.V, watts: watts})
	p.n++
	p.sorted = false
}

// mean returns the mean power of the device during an operation as text, or "" unless samples cover the operation.
func (p *powers) mean(d *deviceOp) string {
	list := p.of[d.device]
	if len(list) == 0 || d.dur <= 0 || d.has&hasDevice == 0 {
		return ""
	}
	if !p.sorted {
		p.settle()
	}
	if d.start+d.dur > list[len(list)-1].at {
		return ""
	}
	watts := (until(list, d.start+d.dur) - until(list, d.start)) / float64(d.dur)
	return strconv.FormatFloat(watts, 'g', 6, 64)
}

func (p *powers) settle() {
	for _, list := range p.of {
		slices.SortStableFunc(list, func(a, b powerSample) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(list); i++ {
			list[i].joules = list[i-1].joules + list[i].watts*float64(list[i].at-list[i-1].at)
		}
	}
	p.sorted = true
}

// until returns the energy from the first sample to a time that is not behind the last one.
func until(list []powerSample, at int64) float64 {
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= at })
	return list[i].joules - list[i].watts*float64(list[i].at-at)
}
