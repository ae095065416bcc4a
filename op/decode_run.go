package op

import (
	"slices"

	"github.com/optrace/optrace/internal/recall"
)

// A run is a row of neighbouring members whose values an operation has every
// time it runs, such as its name, shapes and element types. The members of a run
// that has come before are not read again but copied from where they were kept:
// its text is compared, which takes a tenth of the time.
//
// The first run of a line is looked up, and leads to the runs that followed it
// the last time:
//
//	{"step":3,"operation":"relu",…,"output_shape":[8],"duration_us":1.5,"output_elements":8,…}
//	         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^                  ^^^^^^^^^^^^^^^^^^^^ …

// knownLine holds what is known of the lines that have a first run in common.
type knownLine struct {
	first run
	rest  []run
	// entry has the fields of all the runs, and only those mean something.
	entry Entry
	// changes counts how often the rest was learnt.
	changes int
}

// maxChanges bounds how often the rest of a line is learnt: what changes all the
// time is not worth keeping.
const maxChanges = 8

// run is what is known of one run.
type run struct {
	text []byte // from the comma in front of it, to where its last member ends
	keys []entryKey
	// has and warn are what the members said beside their values; owns are all
	// that they might have said.
	has, owns fieldsSeen
	warn      Warning
}

// runs is what a decoder knows of runs.
type runs struct {
	known recall.Table[knownLine]
	// line is what the first run of this line led to, and next the number of runs
	// met so far.
	line *knownLine
	next int
	// read are the runs of this line that were read, not copied.
	read []readRun
	// keys are the stable keys of this line, repeated tells that one came twice:
	// then its last value counts, and nothing can be learnt from the line.
	keys     uint64
	repeated bool
	// last is the key before.
	last entryKey
	// off tells that runs do not repeat at present.
	off bool
}

// readRun is a run that was read.
type readRun struct {
	run
	number     int // within the line
	start, end int // of the text
}

// stableKeys are the keys that make runs.
const stableKeys uint64 = 1<<jsonOperation | 1<<jsonDeviceID | 1<<jsonInputShapes | 1<<jsonOutputShape |
	1<<jsonOutputElements | 1<<jsonMemoryBytes | 1<<jsonKind | 1<<jsonKindRule | 1<<jsonDType | 1<<jsonInputDTypes |
	1<<jsonPath | 1<<jsonSide | 1<<jsonStream | 1<<jsonRank | 1<<jsonFLOPs | 1<<jsonService | 1<<jsonScope

func isStable(k entryKey) bool { return stableKeys>>k&1 != 0 }

func (r *runs) reset() {
	r.line, r.next, r.read, r.keys, r.repeated, r.last, r.off = nil, 0, r.read[:0], 0, false, noEntryKey, false
}

// recallRun copies the run that starts here if it is known.
func (d *decoder) recallRun() bool {
	o := d.order
	if d.runs.off || o.Starting() || !isStable(entryKey(o.Guess())) || isStable(d.runs.last) {
		return false // hardly in front of one, or within one
	}
	r, l := &d.runs, &d.lex
	rest := l.Text(l.Pos(), l.Size())
	known := (*run)(nil)
	switch {
	case r.next == 0:
		line, n := r.known.Find("", rest)
		if line == nil {
			r.off = r.known.Resting()
			return false
		}
		known, r.line = &line.first, line
		l.Advance(n - 1) // the comma or brace is part of what was looked up
	case r.line != nil && r.next <= len(r.line.rest):
		known = &r.line.rest[r.next-1]
		n := len(known.text)
		if len(rest) <= n || rest[n] != ',' && rest[n] != '}' || string(rest[:n]) != string(known.text) {
			return false
		}
		l.Advance(n)
	default:
		return false
	}
	r.next++
	for _, k := range known.keys {
		r.note(k)
		copyField(&d.entry, &r.line.entry, k)
	}
	d.has = d.has&^known.owns | known.has | hasAny
	d.entry.Warn |= known.warn
	r.last = known.keys[len(known.keys)-1]
	o.Follow(int(r.last))
	return true
}

// note notes a stable key.
func (r *runs) note(k entryKey) {
	bit := uint64(1) << k
	r.repeated = r.repeated || r.keys&bit != 0
	r.keys |= bit
}

// readField reads the value behind key, start being where the member before
// ended.
func (d *decoder) readField(key entryKey, start int) {
	r := &d.runs
	r.last = key
	if r.off || !isStable(key) {
		d.entryField(key)
		return
	}
	r.note(key)
	warn := d.entry.Warn
	d.entry.Warn = 0
	d.entryField(key)
	if last := len(r.read) - 1; last < 0 || r.read[last].end != start {
		r.begin(start)
	}
	at := &r.read[len(r.read)-1]
	at.end = d.lex.Pos()
	at.keys = append(at.keys, key)
	at.owns |= owned(key)
	at.has = at.has&^owned(key) | d.has&owned(key)
	at.warn |= d.entry.Warn
	d.entry.Warn |= warn
}

// begin begins a run that is read.
func (r *runs) begin(start int) {
	n := len(r.read)
	r.read = slices.Grow(r.read, 1)[:n+1]
	r.read[n] = readRun{run: run{keys: r.read[n].keys[:0]}, number: r.next, start: start}
	r.next++
}

// owned tells which of the fields seen the value behind a stable key decides.
func owned(k entryKey) fieldsSeen {
	switch k {
	case jsonOutputShape:
		return hasCutOutput
	case jsonOutputElements:
		return hasElements
	case jsonMemoryBytes:
		return hasMemory
	case jsonKindRule:
		return hasRule
	}
	return 0
}

// learnRuns keeps the runs of the line that were read.
func (d *decoder) learnRuns() {
	r := &d.runs
	if len(r.read) == 0 || r.repeated {
		return
	}
	if first := &r.read[0]; first.number == 0 {
		text := d.lex.Text(first.start, first.end+1)
		if !r.known.Wants(text) {
			return
		}
		r.known.Add("", text, knownLine{first: first.keep(nil)})
		r.line, _ = r.known.Find("", text)
	}
	if r.line == nil || r.line.changes == maxChanges {
		return
	}
	r.line.changes++
	for i := range r.read {
		at := &r.read[i]
		for _, k := range at.keys {
			copyField(&r.line.entry, &d.entry, k)
		}
		switch text := d.lex.Text(at.start, at.end); {
		case at.number == 0:
		case at.number <= len(r.line.rest):
			r.line.rest[at.number-1] = at.keep(text)
		case at.number == len(r.line.rest)+1:
			r.line.rest = append(r.line.rest, at.keep(text))
		}
	}
	e := r.line.entry
	e.cloneTo(&r.line.entry)
}

// keep returns a run that shares nothing with the line.
func (r *readRun) keep(text []byte) run {
	return run{text: slices.Clone(text), keys: slices.Clone(r.keys), has: r.has, owns: r.owns, warn: r.warn}
}

// copyField copies the field behind a stable key.
func copyField(dst, src *Entry, k entryKey) {
	switch k {
	case jsonOperation:
		dst.Operation = src.Operation
	case jsonDeviceID:
		dst.DeviceID = src.DeviceID
	case jsonInputShapes:
		dst.InputShapes = src.InputShapes
	case jsonOutputShape:
		dst.OutputShape = src.OutputShape
	case jsonOutputElements:
		dst.OutputElements = src.OutputElements
	case jsonMemoryBytes:
		dst.MemoryBytes = src.MemoryBytes
	case jsonKind:
		dst.Kind = src.Kind
	case jsonKindRule:
		dst.KindRule = src.KindRule
	case jsonDType:
		dst.DType = src.DType
	case jsonInputDTypes:
		dst.InputDTypes = src.InputDTypes
	case jsonPath:
		dst.Path = src.Path
	case jsonSide:
		dst.Side = src.Side
	case jsonStream:
		dst.Stream = src.Stream
	case jsonRank:
		dst.Rank = src.Rank
	case jsonFLOPs:
		dst.FLOPs = src.FLOPs
	case jsonService:
		dst.Service = src.Service
	case jsonScope:
		dst.Scope = src.Scope
	}
}
