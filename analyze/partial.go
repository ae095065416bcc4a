package analyze

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// Partial holds partial results: the sums over an input, in little memory. Partial results
// of parts of an input, written to files, are together an input with the same sums: [Run]
// makes the report of them that it makes of the parts with SumsOnly, in the same order.
type Partial struct{ c *collector }

// ReadPartial reads an input as [Run] does. Options are those of the reports that are to be
// made, see [Partial.Write]. Local roots are none of the keys of By: they may be in another
// part.
func ReadPartial(ctx context.Context, src Source, opts Options) (*Partial, error) {
	if slices.Contains(opts.By, Key{field: byRoot}) {
		return nil, errors.New("partial results have no groups by root, which may be in another part of the run")
	}
	opts.SumsOnly, opts.KeepForest = true, false
	c, err := collect(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return &Partial{c}, nil
}

// Write writes the partial results as a document of the schema optrace.profile/v1, lines of
// JSON. It holds the options that shape the sums: reports on it have the same, but that they
// may list fewer entries and leave the groups out.
func (p *Partial) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	e := partialWriter{enc: json.NewEncoder(buf)}
	e.enc.SetEscapeHTML(false)
	e.line(&partialLine{Schema: op.PartialSchema, Options: optionsForm(&p.c.opts)})
	e.counter(p.c.counter)
	e.profile(p.c.profile)
	e.line(&partialLine{End: &endForm{Lines: e.lines}})
	if e.err == nil {
		e.err = buf.Flush()
	}
	if e.err != nil {
		return fmt.Errorf("writing partial results: %w", e.err)
	}
	return nil
}

// partialWriter writes lines until an error.
type partialWriter struct {
	enc   *json.Encoder
	lines int64
	err   error
}

func (w *partialWriter) line(l *partialLine) {
	if w.err == nil {
		w.err = w.enc.Encode(l)
		w.lines++
	}
}

// counter writes the counts of the input.
func (w *partialWriter) counter(c *counter) {
	f := &inputForm{
		Files: c.files, Bytes: c.bytes, Formats: slices.Sorted(maps.Keys(c.formats)),
		Entries: c.entries, NoOps: c.nonOp, Weighted: c.weighted,
		Malformed: c.malformed, Truncated: c.truncated, Dropped: c.droppedOps, MissingEntries: c.missingEntries,
		Warnings: make(map[string]int64),
	}
	for bit, n := range c.warnings {
		if name := op.Warning(1 << bit).String(); n > 0 && name != "" {
			f.Warnings[name] = n
		}
	}
	for _, p := range c.problems {
		f.Problems = append(f.Problems, problemForm{p.File, p.Line, p.Offset, p.Msg})
	}
	w.line(&partialLine{Input: f})
	for _, of := range reasonTables {
		writeTable(w, of.table(c), func(_ string, row *reasonCount, other *otherForm) *partialLine {
			return &partialLine{Reason: &reasonForm{Of: of.name, Reason: row.reason, N: row.n, Other: other}}
		})
	}
	writeTable(w, c.writers, func(key string, row *sequence.Set, other *otherForm) *partialLine {
		return &partialLine{Writer: &writerForm{Writer: key, Batches: row.Ranges(), Other: other}}
	})
}

// reasonTables are the tables of a counter by reason.
var reasonTables = [...]struct {
	name  string
	table func(*counter) *table.Table[reasonCount]
}{
	{"skipped", func(c *counter) *table.Table[reasonCount] { return c.skippedBy }},
	{"malformed", func(c *counter) *table.Table[reasonCount] { return c.malformedBy }},
	{"dropped", func(c *counter) *table.Table[reasonCount] { return c.droppedBy }},
}

// profile writes the sums.
func (w *partialWriter) profile(p *Profile) {
	w.line(&partialLine{Totals: totalsFormOf(p)})
	for side := range p.operations {
		name := op.Side(side).String()
		writeTable(w, p.operations[side], func(_ string, row *operationRow, other *otherForm) *partialLine {
			return &partialLine{Operation: &operationForm{
				Name: row.name, Side: name, Other: other, sumsForm: sumsFormOf(&row.accumulator),
				Communications: row.communications, CommunicationNS: row.communicated,
			}}
		})
		writeTable(w, p.groups[side], func(_ string, row *groupRow, other *otherForm) *partialLine {
			return &partialLine{Group: &groupForm{
				Values: row.values, Side: name, Other: other, sumsForm: sumsFormOf(&row.accumulator),
			}}
		})
	}
	writeTable(w, p.devices, func(_ string, row *deviceRow, other *otherForm) *partialLine {
		return &partialLine{Device: &deviceForm{
			DeviceKey: row.key, Other: other, Count: row.count, SumNS: row.sum, MemoryBytes: row.memory,
		}}
	})
	for _, e := range p.slowest.sorted() {
		w.line(&partialLine{Slowest: e.entry.AppendJSON(nil)})
	}
	for _, e := range p.hotspots.sorted() {
		w.line(&partialLine{Hotspot: e.entry.AppendJSON(nil)})
	}
}

// writeTable writes the lines of the rows of a table, that of the others last.
func writeTable[R any](w *partialWriter, t *table.Table[R], line func(key string, row *R, other *otherForm) *partialLine) {
	for key, row := range t.Rows() {
		w.line(line(key, row, nil))
	}
	rest, ok := t.Rest()
	if !ok {
		return
	}
	other := &otherForm{Beyond: []byte(rest.Beyond), Estimated: rest.Estimated}
	for _, h := range rest.Hashes {
		other.Hashes = binary.BigEndian.AppendUint64(other.Hashes, h)
	}
	w.line(line("", &rest.Other, other))
}

func optionsForm(o *Options) *partialOptions {
	f := &partialOptions{MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes, RecordedFLOPs: o.RecordedFLOPs}
	for _, k := range o.By {
		f.By = append(f.By, k.String())
	}
	if o.Peaks != nil {
		f.Peaks = o.Peaks.Devices
	}
	return f
}

func totalsFormOf(p *Profile) *totalsForm {
	f := &totalsForm{
		Weighted: p.weighted, PeakMemoryBytes: p.peak, First: p.first, Last: p.last, StatedMore: p.stated, States: p.states,
		Rules: p.rules, Hotspots: p.hotCount,
	}
	for d := hostToDevice; d < numDirections; d++ {
		if c := &p.copies[d]; c.count > 0 {
			f.Copies = append(f.Copies, copyForm{directionNames[d], c.count, c.sum, c.bytes, c.timed, c.timedBytes})
		}
	}
	return f
}

func sumsFormOf(a *accumulator) sumsForm {
	f := sumsForm{
		Count: a.count, Errors: a.errors, MinNS: a.min, MaxNS: a.max, SumNS: a.sum, Squares: a.squares,
		Elements: a.elements, MemoryBytes: a.memory, FLOPs: a.flops,
	}
	f.setVariety(&a.variety)
	f.Durations, f.Bins = a.durations.Form()
	for k := a.kinds; k != 0; k &= k - 1 {
		f.Kinds = append(f.Kinds, op.Kind(bits.TrailingZeros8(k)).String())
	}
	if !a.slowest.SpanID.IsZero() {
		f.Exemplar = &exemplarForm{a.slowest.TraceID, a.slowest.SpanID}
	}
	if w := a.weighted; w != nil {
		f.Weighted = &weightedForm{w.count, w.sum}
	}
	if w := a.work; w != nil {
		b := &w.bound
		f.Work = &workForm{
			FLOPsCount: w.flopsCount, DerivedCount: w.derivedCount, MovedCount: w.movedCount,
			Derived: w.derived, TimeNS: w.time, MovedBytes: w.bytes, MovedFLOPs: w.movedFLOPs,
			BoundCount: b.count, BoundTimeNS: b.time, BoundFLOPs: b.flops, BoundBytes: b.bytes,
			ArithmeticPS: b.arithmetic, MemoryPS: b.memory,
		}
	}
	return f
}

// setVariety sets the values that all entries share, and the names of those that differ.
// Which value came first says nothing then.
func (f *sumsForm) setVariety(v *variety) {
	for i, mixes := range v.flags() {
		if *mixes {
			f.Mixes = append(f.Mixes, varietyNames[i])
		}
	}
	if !v.mixesInputs {
		f.InputShapes = v.inputs
	}
	if !v.mixesOutput {
		f.OutputShape = v.output
	}
	if !v.mixesDType {
		f.DType = v.dtype
	}
	if !v.mixesDTypes {
		f.InputDTypes = v.dtypes
	}
}

// varietyNames are the names of the differences in the order of flags.
var varietyNames = [...]string{"input_shapes", "output_shape", "dtype", "input_dtypes"}

func (v *variety) flags() [len(varietyNames)]*bool {
	return [...]*bool{&v.mixesInputs, &v.mixesOutput, &v.mixesDType, &v.mixesDTypes}
}
