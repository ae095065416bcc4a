package profile

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Profile sums up entries in one pass. Its memory grows with the number of groups, up to Options.MaxGroups per table,
// not with the number of entries.
//
// Profiles of parts of an input merge to the profile of the whole, in any order and for any parts.
//
// A repeated record counts twice in sums and once in lists of entries. Local roots are the stated ones. [Settle]
// improves both by the structure.
//
// A Profile is not safe for concurrent use: give each worker its own.
type Profile struct {
	opts Options

	// operations is indexed by side. The host's views have rows of their own.
	operations [2]*table.Table[operationRow]
	opCache    [2]*symbols.Cache[struct{}, *table.Row[operationRow]]
	devices    *table.Table[deviceRow]
	devCache   *symbols.Cache[op.Int, sourceRow]
	groups     [2]*table.Table[groupRow] // by side
	errors     *errorSums
	works      work.Finder
	key        []byte // scratch

	at      position
	inParts bool
	// open has the entries whose side depends on the others, nil without any; see settled. lastOpen is the one used last.
	open     map[openKey]*Profile
	lastOpen *Profile
	lastKey  openKey

	totals
	copies            [len(directions)]copies
	slowest, hotspots topEntries
	hotCount          int64
	bins              int64 // bytes of bins from lines, see AddLine
}

// totals are the figures other than sums over operations.
type totals struct {
	// Weighted counts entries with a sampling weight.
	Weighted int64 `json:"weighted,omitempty"`
	// PeakMemoryBytes, First and Last cover entries that count in the total. First is the first start, Last
	// the last end.
	PeakMemoryBytes int64  `json:"peak_memory_bytes"`
	First           op.Int `json:"first_start_unix_ns"`
	Last            op.Int `json:"last_end_unix_ns"`
	// StatedMore is the time stated by seed traces beyond the sum of their entries. States reports whether any
	// trace states a total.
	StatedMore int64 `json:"stated_more_ns,omitempty"`
	States     bool  `json:"states_total,omitempty"`
	// Launches reports whether a host launches work of accelerators, see device.Launches.
	Launches bool               `json:"launches,omitempty"`
	Rules    CommunicationRules `json:"communication_rules"`
}

type sourceRow struct {
	*table.Row[deviceRow]
	service, host string
}

type operationRow struct {
	Name string `json:"name"`
	accumulator
	// Communications and Communicated cover entries of kind collective.
	Communications int64    `json:"communications,omitempty"`
	Communicated   wide.Sum `json:"communication_ns,omitzero"`
	direction      uint8
}

type deviceRow struct {
	device.Key      // with its service
	other      bool // devices beyond the limit
	entrySums
}

type groupRow struct {
	Values []key.Value `json:"values"`
	accumulator
}

// New returns an empty profile.
func New(opts Options) *Profile { return newProfile(opts.WithDefaults()) }

func newProfile(opts Options) *Profile {
	p := &Profile{
		opts:     opts,
		devices:  table.New(opts.MaxGroups, (*deviceRow).fold),
		devCache: new(symbols.Cache[op.Int, sourceRow]),
		errors:   newErrorSums(opts.MaxGroups),
		works:    work.NewFinder(opts.RecordedFLOPs, opts.Peaks),
		slowest:  newTopEntries(opts.Top, slower),
		hotspots: newTopEntries(opts.Top, earlier),
	}
	for side := range p.operations {
		p.operations[side] = table.New(opts.MaxGroups, (*operationRow).fold)
		p.opCache[side] = new(symbols.Cache[struct{}, *table.Row[operationRow]])
		p.groups[side] = table.New(opts.MaxGroups, (*groupRow).fold)
	}
	return p
}

// StartPart begins a part of the input. Parts are numbered in input order, and each part goes to one profile.
func (p *Profile) StartPart(part int64) {
	p.at = position{part: part}
	p.inParts = true
}

// Add adds an entry. It retains strings of e and copies the rest.
func (p *Profile) Add(e *op.Entry) { p.AddWork(e, p.works.Entry(e)) }

// AddWork adds an entry with the given work.
func (p *Profile) AddWork(e *op.Entry, w work.Work) {
	p.at.n++
	p.of(e).add(e, w)
}

func (p *Profile) add(e *op.Entry, w work.Work) {
	p.addSums(e, w)
	if len(p.opts.By) > 0 {
		p.key = key.Append(p.key[:0], p.opts.By, e)
		p.groupRow(SideIndex(e.Side)).add(e, w)
	}
	if e.Side == op.SideHost {
		return
	}
	p.Launches = p.Launches || device.Launches(e.DeviceID, e.Operation, e.Launch.Known)
	if e.Duration >= p.slowest.shortest {
		p.slowest.offer(e, p.at)
	}
	if e.MemoryBytes.V > p.opts.HotspotBytes && p.at.before(p.hotspots.last) {
		p.hotspots.offer(e, p.at)
	}
}

// addSums adds an entry to everything except its group and the lists of entries.
func (p *Profile) addSums(e *op.Entry, w work.Work) {
	if e.AdjustedCount > 0 {
		p.Weighted++
	}
	row := p.operation(SideIndex(e.Side), e.Operation)
	row.add(e, w)
	if e.Failed {
		p.errors.add(e.Side, e.Operation, e.Error, Occurrence{e.TraceID, e.SpanID, e.Start})
	}
	if e.Side == op.SideHost {
		return
	}
	p.PeakMemoryBytes = max(p.PeakMemoryBytes, e.MemoryBytes.V)
	if e.Start.Known {
		p.extend(e.Start, e.End())
	}
	p.device(e).add(e)
	switch e.Kind {
	case op.KindCollective:
		row.Communications++
		row.Communicated.Add(e.Duration)
		p.Rules.add(e.KindRule)
	case op.KindMemory:
		if d := row.copyDirection(e.Operation); d > 0 {
			p.copies[d].add(e)
		}
	}
	if e.MemoryBytes.V > p.opts.HotspotBytes {
		p.hotCount++
	}
}

// AddStated adds a total stated by a seed trace.
func (p *Profile) AddStated(t *op.Total) {
	p.StatedMore = wide.AddSaturating(p.StatedMore, wide.AddSaturating(t.Stated, -t.Sum))
	p.States = p.States || t.Stated != t.Sum
}

func (p *Profile) extend(first, last op.Int) {
	if !first.Known {
		return
	}
	if !p.First.Known || first.V < p.First.V {
		p.First = first
	}
	if !p.Last.Known || last.V > p.Last.V {
		p.Last = last
	}
}

// SideIndex is 1 for the host's view of operations and 0 for others.
func SideIndex(s op.Side) int {
	if s == op.SideHost {
		return 1
	}
	return 0
}

func (p *Profile) operation(side int, name string) *operationRow {
	slot := p.opCache[side].Slot(name, 0)
	if !slot.Holds(name, struct{}{}) || slot.Value.Evicted {
		slot.Set(name, struct{}{}, p.operationRow(side, name))
	}
	return &slot.Value.Value
}

func (p *Profile) operationRow(side int, name string) *table.Row[operationRow] {
	p.key = append(p.key[:0], name...)
	row, isNew := p.operations[side].Row(p.key)
	if isNew {
		row.Value.Name = name
		row.Value.direction = copyDirection(name)
	}
	return row
}

func (p *Profile) device(e *op.Entry) *deviceRow {
	if e.EmptyDevice { // the cache uses "" for no device
		return &p.deviceRow(e).Value
	}
	service, host := device.Source(e)
	slot := p.devCache.Slot(e.DeviceID, e.Rank.V)
	if row := &slot.Value; !slot.Holds(e.DeviceID, e.Rank) || row.Evicted ||
		!symbols.SameString(row.service, service) || !symbols.SameString(row.host, host) {
		slot.Set(e.DeviceID, e.Rank, sourceRow{p.deviceRow(e), service, host})
	}
	return &slot.Value.Value
}

func (p *Profile) deviceRow(e *op.Entry) *table.Row[deviceRow] {
	key := device.Of(e)
	p.key = key.AppendTo(p.key[:0])
	row, isNew := p.devices.Row(p.key)
	if isNew {
		row.Value.Key = key
	}
	return row
}

// groupRow returns the row of the group with the key p.key.
func (p *Profile) groupRow(side int) *groupRow {
	row, isNew := p.groups[side].Row(p.key)
	if isNew {
		row.Value.Values = key.Decode(string(p.key), p.opts.By)
	}
	return &row.Value
}

// Merge adds the entries of o after the entries of p. Both must have the same options. o does not change.
func (p *Profile) Merge(o *Profile) {
	shift := int64(0)
	if !p.inParts && !o.inParts {
		shift = p.at.n
		p.at.n += o.at.n
	}
	p.inParts = p.inParts || o.inParts
	p.merge(o, shift)
}

// merge adds the entries of o, with places moved by shift.
func (p *Profile) merge(o *Profile, shift int64) {
	for _, k := range o.openKeys() {
		p.opened(k).merge(o.open[k], shift)
	}
	for side := range p.operations {
		p.operations[side].Merge(o.operations[side], (*operationRow).init)
		p.groups[side].Merge(o.groups[side], (*groupRow).init)
	}
	p.devices.Merge(o.devices, func(dst, src *deviceRow) { dst.Key = src.Key })
	p.errors.rows.Merge(o.errors.rows, func(dst, src *Error) {
		dst.Text = src.Text
		dst.Operation = src.Operation
		dst.Side = src.Side
	})
	p.Weighted += o.Weighted
	p.PeakMemoryBytes = max(p.PeakMemoryBytes, o.PeakMemoryBytes)
	p.extend(o.First, o.Last)
	p.StatedMore = wide.AddSaturating(p.StatedMore, o.StatedMore)
	p.States = p.States || o.States
	p.Launches = p.Launches || o.Launches
	p.Rules.Attribute += o.Rules.Attribute
	p.Rules.Library += o.Rules.Library
	p.Rules.Name += o.Rules.Name
	for d := range p.copies {
		p.copies[d].merge(&o.copies[d])
	}
	p.slowest.merge(&o.slowest, shift)
	p.hotspots.merge(&o.hotspots, shift)
	p.hotCount += o.hotCount
}

// MergeNext adds o, a profile of lines, to the current part of p. o becomes unusable.
func (p *Profile) MergeNext(o *Profile) {
	for _, of := range append(slices.Collect(maps.Values(o.open)), o) {
		for _, list := range []*topEntries{&of.slowest, &of.hotspots} {
			for i := range list.kept {
				at := &list.kept[i].at
				at.part = p.at.part
				at.n += p.at.n
			}
		}
	}
	p.inParts = true
	p.Merge(o)
	p.at.n += o.at.n
}

// copyDirection returns the direction of a copy. The row beyond the limit has many names.
func (r *operationRow) copyDirection(name string) uint8 {
	if r.Name != name {
		return copyDirection(name)
	}
	return r.direction
}

func (r *operationRow) init(src *operationRow) { r.Name, r.direction = src.Name, src.direction }

func (r *groupRow) init(src *groupRow) { r.Values = src.Values }

func (r *operationRow) fold(src *operationRow) {
	r.accumulator.merge(&src.accumulator)
	r.Communications += src.Communications
	r.Communicated.Merge(src.Communicated)
}

func (r *groupRow) fold(src *groupRow) { r.accumulator.merge(&src.accumulator) }

func (r *deviceRow) fold(src *deviceRow) { r.entrySums.merge(&src.entrySums) }

func (c *CommunicationRules) add(r op.KindRule) {
	switch r {
	case op.RuleLibrary:
		c.Library++
	case op.RuleName:
		c.Name++
	default:
		c.Attribute++
	}
}

// Bytes returns the approximate memory of p, except bins of durations from entries.
func (p *Profile) Bytes() int64 {
	n := p.devices.Bytes() + p.errors.rows.Bytes()
	for side := range p.operations {
		n += p.operations[side].Bytes() + p.groups[side].Bytes()
	}
	for _, of := range p.open {
		n += of.Bytes()
	}
	return n + p.slowest.bytes + p.hotspots.bytes + p.bins
}

// Defaults of [Options].
const (
	DefaultMaxGroups    = 100_000
	DefaultTop          = 10
	DefaultHotspotBytes = 1 << 20
)

// Options configures a [Profile]. The zero value means the defaults.
type Options struct {
	// By lists the keys of the groups to sum up, in addition to operations and devices.
	By []key.Key
	// MaxGroups bounds the rows of each table; further groups share one row named "(other)". 0 means DefaultMaxGroups.
	MaxGroups int
	// Top bounds the lists of slowest entries and memory hotspots. 0 means DefaultTop, a negative number lists no
	// entries.
	Top int
	// HotspotBytes is the memory above which an entry is a hotspot. 0 means DefaultHotspotBytes, a negative
	// number means 0.
	HotspotBytes int64
	// MinCommunicationRatio is the smallest share of the total duration for a communicating operation to count
	// as a bottleneck.
	MinCommunicationRatio float64
	// RecordedFLOPs uses recorded FLOPs only.
	RecordedFLOPs bool
	// Peaks has the peak rates of devices for rooflines; nil for none.
	Peaks *peaks.Table
}

// WithDefaults returns o with defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.MaxGroups = cmp.Or(max(0, o.MaxGroups), DefaultMaxGroups)
	o.Top = max(0, cmp.Or(o.Top, DefaultTop))
	o.HotspotBytes = max(0, cmp.Or(o.HotspotBytes, DefaultHotspotBytes))
	return o
}

// MaxText is the longest name in figures, in bytes, and the longest written by the exporter. Longer names are cut.
const MaxText = 64 << 10

// LongRecord reports whether a name in rec is longer than MaxText.
func LongRecord(rec *op.Record) bool {
	switch {
	case rec.Entry != nil:
		e := rec.Entry
		return max(len(e.Operation), len(e.DeviceID), len(e.Root), len(e.Service), len(e.Host), len(e.Error)) > MaxText
	case rec.Span != nil:
		return max(len(rec.Span.Name), len(rec.Span.Service)) > MaxText
	}
	return false
}

// cutMark ends a shortened text.
const cutMark = "…"

// CutTexts shortens the long names of rec. It replaces the entry or span by a copy.
func CutTexts(rec *op.Record) {
	cut := func(s *string) {
		if len(*s) > MaxText {
			n := MaxText - len(cutMark)
			for n > 0 && !utf8.RuneStart((*s)[n]) {
				n--
			}
			*s = (*s)[:n] + cutMark
		}
	}
	if rec.Entry != nil {
		e := *rec.Entry
		rec.Entry = &e
		for _, s := range []*string{&e.Operation, &e.DeviceID, &e.Root, &e.Service, &e.Host, &e.Error} {
			cut(s)
		}
	}
	if rec.Span != nil {
		s := *rec.Span
		rec.Span = &s
		cut(&s.Name)
		cut(&s.Service)
	}
}
