package nsys

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"unsafe"

	"github.com/optrace/optrace/op"
)

// The tables that are read, as far as they are there.
const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	copyTable    = "CUPTI_ACTIVITY_KIND_MEMCPY"
	setTable     = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	syncTable    = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	rangeTable   = "NVTX_EVENTS"
	textTable    = "StringIds"
	processTable = "PROCESSES"
	threadTable  = "ThreadNames"
	startTable   = "TARGET_INFO_SESSION_START_TIME"
	exportTable  = "META_DATA_EXPORT"
)

// deviceTables lists those of what ran on devices, in the order in which they are read.
var deviceTables = []string{kernelTable, copyTable, setTable, graphTable}

// expected lists the tables that are named where they are missing. That of graphs is there where
// graphs were traced as a whole.
var expected = []string{
	kernelTable, copyTable, setTable, runtimeTable, syncTable, rangeTable, textTable, processTable, threadTable, startTable,
}

// The types of events that are ranges: pushed and popped, started and ended, and the same of files of
// marks that were imported.
const (
	rangePushPop     = 59
	rangeStartEnd    = 60
	importedPushPop  = 70
	importedStartEnd = 71
)

// timeRange is a range of NVTX.
type timeRange struct {
	start, end int64
	thread     uint32
	name       uint32 // index of symbols
	shapes     uint32 // those of the inputs: index of symbols
	parent     int32  // the one that began last of those around it, -1 for none
	plain      bool   // not an operator of PyTorch's
}

// launch is a call of the runtime.
type launch struct {
	correlation int64
	start       int64
	thread      uint32
	at          int32 // the range that it lies in, -1 for none
}

// thread is a thread of a process.
type thread struct {
	process int64 // its globalPid
	attrs   []op.Attr
}

// processOf returns the globalPid of a globalTid, which has the thread in its last 24 bits.
func processOf(globalTid int64) int64 { return globalTid &^ 0xffffff }

// tables holds what the rows of devices are joined with.
type tables struct {
	texts     map[int64]string // of StringIds
	symbols   symbols
	ranges    []timeRange
	launches  []launch
	threads   []thread
	threadIDs map[int64]uint32 // by globalTid
	processes map[int64]string // names by globalPid
	ranks     map[int64]int64  // by globalPid; empty where one process has all the work of devices
	base      int64            // to be added to times
	session   fingerprint
}

// symbols numbers texts, from 1.
type symbols struct {
	index map[string]uint32
	texts []string
}

func (s *symbols) add(text string) uint32 {
	if text == "" {
		return 0
	}
	if s.index == nil {
		s.index, s.texts = make(map[string]uint32), []string{""}
	}
	n, ok := s.index[text]
	if !ok {
		n = uint32(len(s.texts))
		s.index[text] = n
		s.texts = append(s.texts, text)
	}
	return n
}

func (s *symbols) text(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.texts[n]
}

// textBytes is what a text takes beside its bytes: its headers and its share of an index.
const textBytes = 64

// readTables reads everything but the rows of devices, of which it finds the processes. It reports
// false where no more records are wanted.
func (r *reader) readTables() bool {
	t := &r.tables
	t.texts, t.threadIDs, t.processes = make(map[int64]string), make(map[int64]uint32), make(map[int64]string)
	return r.scan(textTable, []string{"id", "'value"}, func(_ int64, v []driver.Value) error {
		id, ok := v[0].(int64)
		text, isText := v[1].(string)
		switch n, isLong := v[1].(int64); {
		case !ok:
			return errType("id", v[0])
		case isText:
			t.texts[id] = text
		case isLong:
			t.texts[id] = longText(n)
		default:
			return errType("value", v[1])
		}
		r.more(textBytes + len(text))
		return nil
	}) && r.scan(processTable, []string{"globalPid", "'name"}, func(_ int64, v []driver.Value) error {
		if id, ok := v[0].(int64); ok {
			t.processes[id], _ = v[1].(string)
			r.more(textBytes + len(t.processes[id]))
		}
		return nil
	}) && r.scan(threadTable, []string{"globalTid", "nameId"}, func(_ int64, v []driver.Value) error {
		id, ok := v[0].(int64)
		name, _ := v[1].(int64)
		if text := t.texts[name]; ok && text != "" {
			t.threads[r.thread(id)].attrs = []op.Attr{{Key: "thread.name", Value: validText(text)}}
		}
		return nil
	}) && r.readStart() && r.scan(rangeTable, []string{
		"start", "end", "eventType", "'text", "textId", "globalTid",
	}, r.addRange) && r.scan(runtimeTable, []string{"start", "end", "correlationId", "globalTid"}, r.addLaunch) &&
		r.scan(syncTable, nil, func(int64, []driver.Value) error {
			r.skip(op.SkipRuntime)
			return nil
		}) && r.readRanks()
}

// readStart finds what is to be added to times. They are those of a clock of the system, which stands
// at systemClockNs at the start of the session, or count from there where a version does not state it.
func (r *reader) readStart() bool {
	normalized := false
	return r.scan(exportTable, []string{"'name", "'value"}, func(_ int64, v []driver.Value) error {
		normalized = normalized || v[0] == "EXPORT_PARAM_TIME_NORMALIZE" && v[1] == "true"
		return nil
	}) && r.scan(startTable, []string{"utcEpochNs", "systemClockNs"}, func(n int64, v []driver.Value) error {
		unix, ok := v[0].(int64)
		if !ok {
			return errType("utcEpochNs", v[0])
		}
		clock, _ := v[1].(int64)
		if n == 1 && !normalized && unix >= 0 && clock >= 0 {
			r.tables.base = unix - clock
		}
		return nil
	})
}

// addRange adds a row of NVTX_EVENTS.
func (r *reader) addRange(_ int64, v []driver.Value) error {
	t := &r.tables
	kind, ok := v[2].(int64)
	if !ok {
		return errType("eventType", v[2])
	}
	switch kind {
	case rangePushPop, rangeStartEnd, importedPushPop, importedStartEnd:
	default:
		r.skip(op.SkipMetadata)
		return nil
	}
	if v[1] == nil {
		r.skip(op.SkipUnpaired)
		return nil
	}
	start, end, err := times(v)
	if err != nil {
		return err
	}
	id, ok := v[5].(int64)
	if !ok && v[5] != nil {
		return errType("globalTid", v[5])
	}
	name, shapes, plain := rangeName(t.textOf(v[3], v[4]))
	before := len(t.symbols.texts)
	t.ranges = append(t.ranges, timeRange{
		start: start, end: end, thread: r.thread(id), name: t.symbols.add(name), shapes: t.symbols.add(shapes), parent: -1, plain: plain,
	})
	r.more(int(unsafe.Sizeof(timeRange{})) + 4) // with its place in an order
	for _, text := range t.symbols.texts[before:] {
		r.more(textBytes + len(text))
	}
	return nil
}

// textOf returns a text, or the one that an id refers to.
func (t *tables) textOf(text, id driver.Value) string {
	switch v := text.(type) {
	case string:
		return v
	case int64:
		return longText(v)
	}
	n, ok := id.(int64)
	if !ok {
		return ""
	}
	return t.text(n)
}

// text returns the text of an id, and says so where there is none.
func (t *tables) text(id int64) string {
	if text, ok := t.texts[id]; ok {
		return text
	}
	return fmt.Sprintf("(text %d)", id)
}

// longText stands for a text that is too long.
func longText(bytes int64) string { return fmt.Sprintf("(text of %d bytes)", bytes) }

func (r *reader) addLaunch(_ int64, v []driver.Value) error {
	start, _, err := times(v)
	if err != nil {
		return err
	}
	r.skip(op.SkipRuntime)
	id, ok := v[3].(int64)
	if correlation, _ := v[2].(int64); ok && correlation != 0 {
		r.tables.launches = append(r.tables.launches, launch{correlation: correlation, start: start, thread: r.thread(id), at: -1})
		r.more(int(unsafe.Sizeof(launch{})))
	}
	return nil
}

// thread returns the number of a thread.
func (r *reader) thread(globalTid int64) uint32 {
	t := &r.tables
	n, ok := t.threadIDs[globalTid]
	if !ok {
		n = uint32(len(t.threads))
		t.threadIDs[globalTid] = n
		t.threads = append(t.threads, thread{process: processOf(globalTid)})
		r.more(2 * textBytes)
	}
	return n
}

// readRanks numbers the processes whose work ran on devices, where there are several, and adds the
// rows to what tells the recording from others. What is wrong with rows is said when they become
// entries.
func (r *reader) readRanks() bool {
	t := &r.tables
	seen := make(map[int64]struct{})
	for _, table := range deviceTables {
		if r.db.tables[table] == nil {
			continue
		}
		_ = r.db.scan(table, []string{"start", "end", "globalPid", "deviceId"}, func(_ int64, v []driver.Value) bool {
			start, _ := v[0].(int64)
			end, _ := v[1].(int64)
			device, _ := v[3].(int64)
			t.session.add(start, end, device)
			process := t.process(v[2])
			if _, ok := seen[process]; !ok {
				seen[process] = struct{}{}
				r.more(textBytes)
			}
			return r.held <= r.told+maxUntold
		})
	}
	if len(seen) > 1 {
		t.ranks = make(map[int64]int64)
		processes := make([]int64, 0, len(seen))
		for p := range seen {
			processes = append(processes, p)
		}
		slices.Sort(processes)
		for rank, p := range processes {
			t.ranks[p] = int64(rank)
		}
	}
	return r.tell()
}

// process returns the process that a row names, or the only one that there is.
func (t *tables) process(globalPid driver.Value) int64 {
	if id, ok := globalPid.(int64); ok {
		return id
	}
	if len(t.threads) > 0 && !slices.ContainsFunc(t.threads, func(o thread) bool { return o.process != t.threads[0].process }) {
		return t.threads[0].process
	}
	return 0
}

// times returns the start and end in the first two values.
func times(v []driver.Value) (start, end int64, err error) {
	start, ok := v[0].(int64)
	if !ok {
		return 0, 0, errType("start", v[0])
	}
	if end, ok = v[1].(int64); !ok {
		return 0, 0, errType("end", v[1])
	}
	if end < start || end-start < 0 {
		return 0, 0, fmt.Errorf("end %d before start %d", end, start)
	}
	return start, end, nil
}

// errType is the error of a value that is no integer where there has to be one, or no text.
func errType(column string, v driver.Value) error {
	what := "another type"
	switch v.(type) {
	case nil:
		what = "null"
	case string:
		what = "text"
	case float64:
		what = "a floating-point number"
	case []byte:
		what = "a blob"
	}
	return fmt.Errorf("column %s is %s", column, what)
}
