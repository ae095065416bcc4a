package nsys

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/op"
)

const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	copyTable    = "CUPTI_ACTIVITY_KIND_MEMCPY"
	setTable     = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	syncTable    = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	eventTable   = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
	rangeTable   = "NVTX_EVENTS"
	nodeTable    = "CUDA_GRAPH_NODE_EVENTS"
	textTable    = "StringIds"
	processTable = "PROCESSES"
	threadTable  = "ThreadNames"
	startTable   = "TARGET_INFO_SESSION_START_TIME"
	exportTable  = "META_DATA_EXPORT"
	gpuTable     = "TARGET_INFO_GPU"
)

var deviceTables = []string{kernelTable, copyTable, setTable, graphTable}

// expected lists the tables to report if missing. Tables of graphs exist only with graphs.
var expected = []string{
	kernelTable, copyTable, setTable, runtimeTable, syncTable, rangeTable, textTable, processTable, threadTable,
	startTable,
}

// The event types of ranges: push-pop, start-end, and both from imported files.
const (
	rangePushPop     = 59
	rangeStartEnd    = 60
	importedPushPop  = 70
	importedStartEnd = 71
)

type timeRange struct {
	profiler.Range        // named by symbols
	shapes         uint32 // those of the inputs: index of symbols
	plain          bool   // not an operator of PyTorch's
}

type launch struct {
	correlation, start, dur int64
	name                    int64 // its text, or 0
	thread                  uint32
	at                      int32 // the range around it, or -1
	matched                 bool  // an operation of a device has its correlation id
	worked                  int64 // the end of its last operation
}

type thread struct {
	process   int64 // its globalPid
	attrs, id []op.Attr
}

const threadBits = 0xffffff // the bits of a globalTid for the thread

// processOf returns the globalPid of a globalTid.
func processOf(globalTid int64) int64 { return globalTid &^ threadBits }

type tables struct {
	texts      map[int64]string // of StringIds
	symbols    profiler.Symbols
	ranges     []timeRange
	around     profiler.Ranges // of ranges
	launches   []launch
	nodes      []launch          // creations of nodes of CUDA graphs, by the node as correlation, until they are named
	capturedIn map[nodeKey]int32 // the range in which a node was created
	copies     map[nodeKey]int64 // the original of a node
	waits      map[callKey]wait
	recorded   map[event][]recording // by start once joined
	threads    []thread
	threadIDs  map[int64]uint32 // by globalTid
	processes  map[int64]string // names by globalPid
	ranks      map[int64]int64  // by globalPid; empty where one process has all the work of devices
	base       int64            // to be added to times
	marks      marks.Names      // of symbols
	steps      marks.Steps      // processes are globalPids, names symbols
	session    profiler.Fingerprint
	eras       profiler.Eras
}

func (t *tables) symbol(raw []byte) uint32 {
	if !utf8.Valid(raw) {
		raw = []byte(validText(string(raw)))
	}
	return t.symbols.Add(raw)
}

const textBytes = 64 // the memory of a text beside its bytes: headers and its share of an index

// readTables reads all but the rows of devices, and their processes. It reports false when the consumer
// wants no more.
func (r *reader) readTables() bool {
	r.texts, r.threadIDs, r.processes = make(map[int64]string), make(map[int64]uint32), make(map[int64]string)
	r.copies = make(map[nodeKey]int64)
	r.waits, r.recorded = make(map[callKey]wait), make(map[event][]recording)
	return r.scan(textTable, []string{"id", "value"}, func(_ int64, v []sqlite.Value) error {
		id, ok := v[0].Number()
		switch {
		case !ok:
			return errType("id", v[0])
		case v[1].Kind != sqlite.Text:
			return errType("value", v[1])
		}
		r.texts[id] = string(shortText(v[1].Text))
		r.more(textBytes + len(r.texts[id]))
		return nil
	}) && r.scan(processTable, []string{"globalPid", "name"}, func(_ int64, v []sqlite.Value) error {
		if id, ok := v[0].Number(); ok {
			r.processes[id] = string(shortText(v[1].Text))
			r.more(textBytes + len(r.processes[id]))
		}
		return nil
	}) && r.scan(threadTable, []string{"globalTid", "nameId"}, func(_ int64, v []sqlite.Value) error {
		id, ok := v[0].Number()
		name, _ := v[1].Number()
		if text := r.texts[name]; ok && text != "" {
			t := &r.threads[r.thread(id)]
			t.attrs = append([]op.Attr{{Key: "thread.name", Value: validText(text)}}, t.id...)
		}
		return nil
	}) && r.readStart() && r.scan(rangeTable, []string{
		"start", "end", "eventType", "text", "textId", "globalTid",
	}, r.addRange) && r.scan(runtimeTable, []string{"start", "end", "correlationId", "globalTid", "nameId"},
		r.addLaunch) &&
		r.scan(nodeTable, []string{"start", "graphNodeId", "originalGraphNodeId", "globalTid"}, r.addNode) &&
		r.scan(syncTable, append([]string{"deviceId"}, eventColumns...), func(_ int64, v []sqlite.Value) error {
			r.skipped[op.SkipRuntime]++
			if correlation := v[2].Int; correlation != 0 {
				w := wait{device: index(v[0]), stream: index(v[1]), event: r.event(v[3:])}
				r.waits[callKey{w.event.process, correlation}] = w
				r.more(2 * textBytes)
			}
			return nil
		}) && r.scan(eventTable, eventColumns, func(_ int64, v []sqlite.Value) error {
		event := r.event(v[2:])
		r.recorded[event] = append(r.recorded[event], recording{correlation: v[1].Int, stream: index(v[0])})
		r.more(textBytes)
		return nil
	}) && r.readRanks()
}

// readStart finds the Unix time of time 0. Times count from the start of the session, at utcEpochNs, and are Unix times
// in a normalized export. An export may be shifted.
func (r *reader) readStart() bool {
	normalized, shift := false, int64(0)
	return r.scan(exportTable, []string{"name", "value"}, func(_ int64, v []sqlite.Value) error {
		switch name := string(v[0].Text); {
		case strings.HasSuffix(name, "TIME_NORMALIZE"):
			normalized = string(v[1].Text) == "true"
		case strings.HasSuffix(name, "TIME_SHIFT"):
			shift, _ = strconv.ParseInt(string(v[1].Text), 10, 64)
		}
		return nil
	}) && r.scan(startTable, []string{"utcEpochNs"}, func(n int64, v []sqlite.Value) error {
		unix, ok := v[0].Number()
		if !ok {
			return errType("utcEpochNs", v[0])
		}
		if n == 1 && unix >= 0 {
			if !normalized {
				r.base = unix
			}
			r.base -= shift
		}
		return nil
	})
}

func (r *reader) addRange(_ int64, v []sqlite.Value) error {
	kind, ok := v[2].Number()
	if !ok {
		return errType("eventType", v[2])
	}
	switch kind {
	case rangePushPop, rangeStartEnd, importedPushPop, importedStartEnd:
	default:
		r.skipped[op.SkipMetadata]++
		return nil
	}
	if v[1].Kind == sqlite.Null {
		r.skipped[op.SkipUnpaired]++
		return nil
	}
	start, end, err := times(v)
	if err != nil {
		return err
	}
	id, ok := v[5].Number()
	if !ok && v[5].Kind != sqlite.Null {
		return errType("globalTid", v[5])
	}
	r.eras.Add(opfile.UnixTime(r.base, start))
	before := r.symbols.Bytes()
	raw := shortText(v[3].Text)
	if n, ok := v[4].Number(); ok && v[3].Kind != sqlite.Text {
		raw = []byte(r.text(n))
	}
	name, shapes, plain := rangeName(raw)
	r.ranges = append(r.ranges, timeRange{
		Range: profiler.Range{Start: start, End: end, Thread: r.thread(id), Name: r.symbol(name),
			Nest: profiler.Nest{Parent: -1, Across: -1}},
		shapes: r.symbol(shapes), plain: plain,
	})
	r.more(int(unsafe.Sizeof(timeRange{})) + 4) // with its place in an order
	r.more(int(r.symbols.Bytes() - before))
	return nil
}

func (t *tables) text(id int64) string {
	if text, ok := t.texts[id]; ok {
		return text
	}
	return fmt.Sprintf("(text %d)", id)
}

const maxTextBytes = 16 << 10

// shortText returns a text, a placeholder if it is too long.
func shortText(text []byte) []byte {
	if len(text) > maxTextBytes {
		return fmt.Appendf(nil, "(text of %d bytes)", len(text))
	}
	return text
}

func (r *reader) addLaunch(_ int64, v []sqlite.Value) error {
	start, end, err := times(v)
	if err != nil {
		return err
	}
	r.eras.Add(opfile.UnixTime(r.base, start))
	r.skipped[op.SkipRuntime]++
	id, ok := v[3].Number()
	if correlation, _ := v[2].Number(); ok && correlation != 0 {
		r.launches = append(r.launches, launch{
			correlation: correlation, start: start, dur: end - start, name: v[4].Int, thread: r.thread(id), at: -1,
		})
		r.more(int(unsafe.Sizeof(launch{})))
	}
	return nil
}

func (r *reader) addNode(_ int64, v []sqlite.Value) error {
	start, ok := v[0].Number()
	if !ok {
		return errType("start", v[0])
	}
	node, ok := v[1].Number()
	id, known := v[3].Number()
	if !ok || !known {
		return nil
	}
	if original, _ := v[2].Number(); original != 0 && original != node {
		r.copies[nodeKey{processOf(id), node}] = original
	} else {
		r.nodes = append(r.nodes, launch{correlation: node, start: start, thread: r.thread(id), at: -1})
	}
	r.more(textBytes)
	return nil
}

func (r *reader) thread(globalTid int64) uint32 {
	n, ok := r.threadIDs[globalTid]
	if !ok {
		n = uint32(len(r.threads))
		r.threadIDs[globalTid] = n
		t := thread{process: processOf(globalTid)}
		if id := globalTid & threadBits; id != 0 {
			t.id = []op.Attr{{Key: attrkey.Thread, Value: strconv.FormatInt(id, 10), Type: op.AttrInt}}
		}
		t.attrs = t.id
		r.threads = append(r.threads, t)
		r.more(2 * textBytes)
	}
	return n
}

// readRanks numbers the processes with device work, if there are several, and adds device rows to the fingerprint. The
// pass that makes entries reports their errors.
func (r *reader) readRanks() bool {
	seen := make(map[int64]struct{})
	for _, table := range deviceTables {
		for v, err := range r.db.Rows(r.actual[table], "start", "end", "globalPid", "deviceId") {
			if err != nil {
				continue
			}
			r.addToSession(v[0].Int, v[1].Int, v[3].Int)
			r.used[v[3].Int] = true
			if v[0].Int != 0 || v[1].Int != 0 {
				r.eras.Add(opfile.UnixTime(r.base, v[0].Int))
			}
			process := r.process(v[2])
			if _, ok := seen[process]; !ok {
				seen[process] = struct{}{}
				if r.more(textBytes); !r.tell(maxUntold) {
					return false
				}
			}
		}
	}
	if len(seen) > 1 {
		r.ranks = make(map[int64]int64)
		for rank, p := range slices.Sorted(maps.Keys(seen)) {
			r.ranks[p] = int64(rank)
		}
	}
	return r.tell(1)
}

// process returns the process of a row, or the only process.
func (t *tables) process(globalPid sqlite.Value) int64 {
	if id, ok := globalPid.Number(); ok {
		return id
	}
	if len(t.threads) > 0 &&
		!slices.ContainsFunc(t.threads, func(o thread) bool { return o.process != t.threads[0].process }) {
		return t.threads[0].process
	}
	return 0
}

func times(v []sqlite.Value) (start, end int64, err error) {
	start, ok := v[0].Number()
	if !ok {
		return 0, 0, errType("start", v[0])
	}
	if end, ok = v[1].Number(); !ok {
		return 0, 0, errType("end", v[1])
	}
	if end < start || end-start < 0 {
		return 0, 0, fmt.Errorf("end %d before start %d", end, start)
	}
	return start, end, nil
}

func errType(column string, v sqlite.Value) error {
	return fmt.Errorf("column %s is %s", column, v.Kind)
}

// join finds the range around each range and each launch, and names the nodes of CUDA graphs. It sorts the launches by
// process and correlation id, and returns the ranges of each thread in order of time.
func (t *tables) join() (byThread []int32) {
	t.around = profiler.Ranges{
		At: func(i int32) *profiler.Range { return &t.ranges[i].Range }, Text: t.symbols.Text, Marks: &t.marks,
		Plain: func(i int32) bool { return t.ranges[i].plain },
	}
	ranges := t.around.Intervals(len(t.ranges))
	nest := func(i int32, n profiler.Nest) { t.ranges[i].Nest = n }
	byThread = ranges.Enclose(starts(t.launches), nest, func(i, in int32) { t.launches[i].at = in })
	if len(t.nodes) > 0 {
		t.capturedIn = make(map[nodeKey]int32)
		ranges.Enclose(starts(t.nodes), nest, t.captured)
		t.nodes = nil
	}
	slices.SortStableFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(t.threads[a.thread].process, t.threads[b.thread].process),
			cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start), cmp.Compare(a.thread, b.thread))
	})
	return byThread
}

func starts(calls []launch) *profiler.Intervals {
	return &profiler.Intervals{N: len(calls), At: func(i int32) profiler.Interval {
		return profiler.Interval{Thread: calls[i].thread, Start: calls[i].start, End: calls[i].start}
	}}
}

type nodeKey struct{ process, node int64 }

type callKey struct{ process, correlation int64 }

// wait is a synchronization of the host, or of a stream for an event.
type wait struct {
	device, stream op.Int
	event          event
}

// event is an event of a process. link is the number of one recording and its waits, or 0.
type event struct{ process, id, link int64 }

type recording struct {
	correlation, start int64
	stream             op.Int
}

var eventColumns = []string{"streamId", "correlationId", "globalPid", "eventId", "eventSyncId"}

// event returns an event from the last eventColumns.
func (t *tables) event(v []sqlite.Value) event { return event{t.process(v[0]), v[1].Int, v[2].Int} }

func index(v sqlite.Value) op.Int {
	n, ok := v.Number()
	return profiler.Index(op.Int{V: n, Known: ok})
}

// startRecordings sets the starts of the recordings of events and sorts them.
func (t *tables) startRecordings() {
	for event, list := range t.recorded {
		list = slices.DeleteFunc(list, func(rec recording) bool { return t.launchOf(event.process, rec.correlation) == nil })
		for i := range list {
			list[i].start = t.launchOf(event.process, list[i].correlation).start
		}
		slices.SortFunc(list, func(a, b recording) int { return cmp.Compare(a.start, b.start) })
		t.recorded[event] = list
	}
}

// recordingOf returns the last recording of an event before a time, nil if there is none.
func (t *tables) recordingOf(e event, at int64) *recording {
	list := t.recorded[e]
	i, _ := slices.BinarySearchFunc(list, at, func(rec recording, at int64) int { return cmp.Compare(rec.start, at) })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// captured notes the first range around the creation or capture of a node of a CUDA graph. It skips copies.
func (t *tables) captured(i, in int32) {
	n := &t.nodes[i]
	key := nodeKey{t.threads[n.thread].process, n.correlation}
	if _, ok := t.capturedIn[key]; !ok && in >= 0 && t.copies[key] == 0 {
		t.capturedIn[key] = in
	}
}

const maxCopies = 16

// nodeName returns the name of the range around the capture of a node, "" if unknown.
func (t *tables) nodeName(process, node int64) string {
	key := nodeKey{process, node}
	for range maxCopies {
		if at, ok := t.capturedIn[key]; ok {
			return t.symbols.Text(t.ranges[at].Name)
		}
		if key.node = t.copies[key]; key.node == 0 {
			break
		}
	}
	return ""
}

// findSteps finds the steps of each process in the ranges of all its threads. Repeating PyTorch operators are no steps.
func (r *reader) findSteps(byThread []int32) {
	process := func(thread uint32) int64 { return r.threads[thread].process }
	for i := range int32(len(r.ranges)) {
		if m := r.around.Mark(i); m.IsStep() {
			r.steps.Add(m, r.around.Step(i, process(r.ranges[i].Thread)))
		}
	}
	r.steps.Settle(r.around.Unmarked(byThread, r.around.Plain, process))
	r.more(len(r.marks)*int(unsafe.Sizeof(uintptr(0))) + len(r.steps)*int(unsafe.Sizeof(marks.Step{})))
}

func (t *tables) launchOf(process, correlation int64) *launch {
	i, ok := slices.BinarySearchFunc(t.launches, correlation, func(l launch, correlation int64) int {
		return cmp.Or(cmp.Compare(t.threads[l.thread].process, process), cmp.Compare(l.correlation, correlation))
	})
	if !ok {
		return nil
	}
	return &t.launches[i]
}
