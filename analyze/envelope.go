package analyze

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Envelope describes the input of a report and its faults.
type Envelope struct {
	Files int64 `json:"files"`
	// Formats lists the names of the files' formats, sorted.
	Formats []string `json:"format"`
	// Bytes is the size of the files as stored.
	Bytes int64 `json:"bytes"`
	// Spans is Entries plus Skipped.
	Spans   int64 `json:"spans"`
	Entries int64 `json:"entries"`
	// Skipped counts spans other than operations.
	Skipped int64 `json:"skipped"`
	// Malformed counts unreadable records.
	Malformed int64 `json:"malformed"`
	// Dropped counts operations lost between recording and writing, according to gap records.
	Dropped int64 `json:"dropped"`
	// Orphans counts operations whose parent is missing from the input. Duplicates counts spans with the ids of
	// an earlier span. Both are unknown without the structure.
	Orphans    op.Int `json:"orphans"`
	Duplicates op.Int `json:"duplicates"`
	// DuplicatesKept is "first_in_input": the tree keeps the first of several spans with one id. It is empty
	// without duplicates.
	DuplicatesKept string `json:"duplicates_kept,omitempty"`
	// Repeated counts duplicates that equal an earlier record in ids, start and duration. Figures ignore them, except
	// figures of the input. It is unknown without the structure; repeats then count like other records.
	Repeated op.Int `json:"repeated"`
	// SuspectDurations counts operations still running at the end of a later operation on the same stream.
	// Clock counts operations and spans starting more than a millisecond before their parent starts or after it ends.
	// Cycles counts cycles of parents, each cut at its earliest span. All are unknown without the structure.
	SuspectDurations op.Int `json:"suspect_durations"`
	Clock            op.Int `json:"clock"`
	Cycles           op.Int `json:"cycles"`
	// Suspects has the worst example of each kind; nil without the structure.
	Suspects []suspects.Suspect `json:"suspects"`
	// MissingLinks counts links to spans missing from the input; unknown without the structure.
	MissingLinks op.Int `json:"missing_links"`
	// DroppedLinks counts links dropped by the limits of recorders. Their requests are unknown.
	DroppedLinks int64 `json:"dropped_links,omitzero"`
	// DeviceClock bounds the error of times from device clocks; nil without the structure and if no operation
	// states a bound.
	DeviceClock *DeviceClock `json:"device_clock,omitempty"`
	// Truncated counts inputs that end inside a record.
	Truncated int64 `json:"truncated"`
	// OverflowedGroups is the number of groups beyond the limit, summed up in rows named "(other)". Above 65536
	// it is an estimate.
	OverflowedGroups int64    `json:"overflowed_groups"`
	Sampling         Sampling `json:"sampling"`
	// Sampler describes the sampler that left operations out; "" if the recording names none.
	Sampler string `json:"sampler,omitempty"`
	// Warnings counts entries by source fault.
	Warnings map[string]int64 `json:"warnings"`
	// SkippedBy counts skipped records by reason: the spans in Skipped, and records of other kinds.
	SkippedBy map[string]int64 `json:"skipped_by"`
	// Signals lists the skipped OTLP signals, sorted: "logs", "metrics" and "profiles".
	Signals []string `json:"-"`
	// MalformedBy counts Malformed by [op.ErrorClass]. DroppedBy counts Dropped by reason.
	MalformedBy map[string]int64 `json:"malformed_by"`
	DroppedBy   map[string]int64 `json:"dropped_by"`
	// MissingBatches counts gaps in the batch numbers of writers.
	MissingBatches int64 `json:"missing_batches"`
	// EarlierBatches counts batches written before the first batch of the same writer in the input. They are in
	// other files, perhaps removed.
	EarlierBatches int64 `json:"earlier_batches"`
	// MissingEntries counts entries announced by a batch record and then missing or unreadable.
	MissingEntries int64 `json:"missing_entries"`
	// BadProducts counts matrix products with incompatible shapes; BadProduct is an example.
	BadProducts int64  `json:"bad_products,omitempty"`
	BadProduct  string `json:"bad_product,omitempty"`
	// TimeUnit is the apparent unit of EarlyStarts operations, in place of Unix nanoseconds: "seconds",
	// "milliseconds" or "microseconds"; empty if there is no doubt.
	TimeUnit    string `json:"time_unit,omitempty"`
	EarlyStarts int64  `json:"early_starts,omitempty"`
	// Problems describes the first unreadable records with their positions.
	Problems []string `json:"problems"`
	// Unrecorded counts work that profiles announce and do not hold, by reason. WorldSize is the stated number of ranks.
	// Models are the stated names of devices, sorted.
	Unrecorded map[string]int64 `json:"-"`
	WorldSize  op.Int           `json:"-"`
	// Summarized counts operations known from sums only, without times.
	Summarized int64    `json:"-"`
	Models     []string `json:"-"`
}

// DeviceClock bounds the error of times from device clocks.
type DeviceClock struct {
	// Entries counts operations that state a bound. MaxErrorNS is the largest bound.
	Entries    int64 `json:"entries"`
	MaxErrorNS int64 `json:"max_error_ns"`
}

// Sampling describes the known sampling weights of the entries.
type Sampling string

// The states of sampling.
const (
	// SamplingNone: the input has neither sampling weights nor a named sampler. A recorder may still have
	// left operations out.
	SamplingNone Sampling = "none"
	// SamplingKnown: every entry has a weight, so estimates for unsampled entries are sound.
	SamplingKnown Sampling = "known"
	// SamplingUnknown: only some entries have a weight, or the recording names a sampler and the entries have
	// no weights.
	SamplingUnknown Sampling = "unknown"
)

// Bounds of a counter.
const (
	maxReasons  = 64
	maxProblems = 10
	maxWriters  = 1 << 12
)

// counter counts the records of an input for the Envelope, including unreadable ones. Counters of parts merge in any
// order to the counter of the whole. It is not safe for concurrent use.
type counter struct {
	counts
	signals  map[string]struct{}
	warnings [32]int64 // by bit of op.Warning
	reasons  [len(reasonTables)]*table.Table[reasonCount]
	problems []*op.SyntaxError
	writers  *table.Table[sequence.Set]

	// files counts records by file number. inFile is the count of the current file.
	files  map[int64]*fileCount
	inFile *fileCount
}

// counts are the numeric counts of an input. Partial results contain them as JSON.
type counts struct {
	Files          int64    `json:"files"`
	Bytes          int64    `json:"bytes"`
	Formats        []string `json:"format"` // sorted
	Entries        int64    `json:"entries"`
	NoOps          int64    `json:"skipped"`
	Weighted       int64    `json:"weighted,omitempty"`
	Malformed      int64    `json:"malformed,omitempty"`
	Truncated      int64    `json:"truncated,omitempty"`
	Dropped        int64    `json:"dropped,omitempty"`
	DroppedLinks   int64    `json:"dropped_links,omitempty"`
	MissingEntries int64    `json:"missing_entries,omitempty"`
	Sampler        string   `json:"sampler,omitempty"` // the last one by name
	Mistakes       mistakes `json:"mistakes,omitzero"`
	WorldSize      op.Int   `json:"world_size,omitzero"` // the largest one
	Models         []string `json:"models,omitempty"`    // sorted, the first maxReasons
}

// addTo adds a name to a sorted list of the first maxReasons names.
func addTo(list []string, name string) []string {
	if i, found := slices.BinarySearch(list, name); !found && name != "" {
		list = slices.Insert(list, i, name)
	}
	return list[:min(len(list), maxReasons)]
}

// modelOf returns the stated name of the devices of r, "" if unknown.
func modelOf(r *op.Resource) string {
	if a := opmodel.FindAttr(r.Attrs, attrkey.HardwareModel); a != nil {
		return a.Value
	}
	return ""
}

// fileCount counts entries of a file, entries promised by its batch records, and partial results. Partial results bring
// the counts of their original files.
type fileCount struct{ entries, promised, partials int64 }

// Tables of a counter by reason, with their names in partial results.
const (
	skippedBy = iota
	malformedBy
	droppedBy
)

var reasonTables = [...]string{skippedBy: "skipped", malformedBy: "malformed", droppedBy: "dropped"}

// reasonCount counts the records of one reason. Partial results contain it as JSON.
type reasonCount struct {
	Reason string `json:"reason"`
	N      int64  `json:"n"`
}

func (c *reasonCount) fold(src *reasonCount) { c.N = wide.AddSaturating(c.N, src.N) }

func newCounter() *counter {
	c := &counter{
		signals: make(map[string]struct{}),
		writers: table.New(maxWriters, (*sequence.Set).Merge),
		files:   make(map[int64]*fileCount),
	}
	c.startFile(0)
	for i := range c.reasons {
		c.reasons[i] = table.New(maxReasons, (*reasonCount).fold)
	}
	return c
}

// add counts a record or an error in its place. An *[op.SyntaxError] is a malformed record, or a truncated one at the
// end of the input. io.ErrUnexpectedEOF is a truncated input, io.EOF is ignored, and any other error is malformed. The
// counter does not retain rec.
func (in *counter) add(rec op.Record, err error) {
	if err != nil {
		in.addError(err)
		return
	}
	switch {
	case rec.Entry != nil:
		in.addEntry(rec.Entry)
	case rec.Span != nil:
		in.skip(op.SkipNonOp, 1)
		in.DroppedLinks = wide.AddSaturating(in.DroppedLinks, opmodel.DroppedLinks(rec.Span.Extra))
	case rec.Resource != nil:
		if a := opmodel.FindAttr(rec.Resource.Attrs, attrkey.Sampler); a != nil {
			in.Sampler = max(in.Sampler, a.Value)
		}
		in.WorldSize = slices.MaxFunc([]op.Int{in.WorldSize, rec.Resource.WorldSize}, order.Ints)
		in.Models = addTo(in.Models, modelOf(rec.Resource))
	case rec.Gap != nil:
		if !slices.Contains(opmodel.Unrecorded[:], rec.Gap.Reason) {
			in.Dropped = wide.AddSaturating(in.Dropped, max(0, rec.Gap.Dropped))
		}
		in.countReason(droppedBy, cmp.Or(rec.Gap.Reason, key.Unknown), max(0, rec.Gap.Dropped))
	case rec.Batch != nil:
		w, _ := in.writers.Row([]byte(rec.Batch.Writer))
		w.Value.Add(rec.Batch.Sequence)
		in.inFile.promised = wide.AddSaturating(in.inFile.promised, max(0, rec.Batch.Entries))
	}
	if rec.Skipped.N > 0 {
		in.skip(rec.Skipped.Reason, rec.Skipped.N)
		if rec.Skipped.Signal != "" {
			in.signals[rec.Skipped.Signal] = struct{}{}
		}
	}
}

func (in *counter) addEntry(e *op.Entry) {
	in.Entries++
	in.inFile.entries++
	if e.AdjustedCount > 0 {
		in.Weighted++
	}
	in.DroppedLinks = wide.AddSaturating(in.DroppedLinks, opmodel.DroppedLinks(e.Extra))
	in.Mistakes.add(e)
	for w := uint32(e.Warn); w != 0; w &= w - 1 {
		in.warnings[bits.TrailingZeros32(w)]++
	}
}

func (in *counter) skip(reason op.SkipReason, n int64) {
	if reason.IsSpan() {
		in.NoOps += n
	}
	in.countReason(skippedBy, string(reason), n)
}

func (in *counter) addError(err error) {
	var syntax *op.SyntaxError
	isSyntax := errors.As(err, &syntax)
	switch {
	case isSyntax && syntax.Truncated:
		in.Truncated++
		in.addProblem(syntax)
	case isSyntax:
		in.Malformed = wide.AddSaturating(in.Malformed, syntax.Count())
		in.countReason(malformedBy, syntax.Class.String(), syntax.Count())
		in.addProblem(syntax)
	case errors.Is(err, io.ErrUnexpectedEOF):
		in.Truncated++
	case !errors.Is(err, io.EOF):
		in.Malformed++
		in.countReason(malformedBy, op.ErrorOther.String(), 1)
	}
}

// addProblem keeps err if it is among the first by file and offset.
func (in *counter) addProblem(err *op.SyntaxError) {
	if n := len(in.problems); n == maxProblems {
		if last := in.problems[n-1]; last.File == err.File && last.Line < err.Line {
			return // most later errors end here
		}
	}
	i, _ := slices.BinarySearchFunc(in.problems, err, func(a, b *op.SyntaxError) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Msg, b.Msg))
	})
	if i == maxProblems {
		return
	}
	in.problems = slices.Insert(in.problems, i, err)
	in.problems = in.problems[:min(len(in.problems), maxProblems)]
}

func (in *counter) startFile(file int64) { in.inFile = order.At(in.files, file) }

// endFiles ends the files, given their formats and sizes in order. Only now do promised but absent entries
// count as missing.
func (in *counter) endFiles(files iter.Seq2[string, int64]) {
	file := int64(0)
	for format, bytes := range files {
		in.startFile(file)
		in.endFile(format, bytes)
		file++
	}
}

func (in *counter) endFile(format string, bytes int64) {
	if in.inFile.partials == 0 {
		in.Files++
		in.Bytes += bytes
		in.Formats = addTo(in.Formats, format)
	}
	in.MissingEntries = wide.AddSaturating(in.MissingEntries, max(0, in.inFile.promised-in.inFile.entries))
	*in.inFile = fileCount{}
}

// merge adds the counts of o and leaves o unchanged.
func (in *counter) merge(o *counter) {
	in.Files += o.Files
	in.Bytes += o.Bytes
	for _, format := range o.Formats {
		in.Formats = addTo(in.Formats, format)
	}
	for _, model := range o.Models {
		in.Models = addTo(in.Models, model)
	}
	maps.Copy(in.signals, o.signals)
	in.Entries += o.Entries
	in.NoOps += o.NoOps
	in.Weighted += o.Weighted
	in.DroppedLinks = wide.AddSaturating(in.DroppedLinks, o.DroppedLinks)
	in.Malformed = wide.AddSaturating(in.Malformed, o.Malformed)
	in.Truncated += o.Truncated
	in.Dropped = wide.AddSaturating(in.Dropped, o.Dropped)
	in.MissingEntries = wide.AddSaturating(in.MissingEntries, o.MissingEntries)
	in.Sampler = max(in.Sampler, o.Sampler)
	in.WorldSize = slices.MaxFunc([]op.Int{in.WorldSize, o.WorldSize}, order.Ints)
	in.Mistakes.merge(&o.Mistakes)
	for i, n := range o.warnings {
		in.warnings[i] += n
	}
	for i, t := range in.reasons {
		t.Merge(o.reasons[i], func(dst, src *reasonCount) { dst.Reason = src.Reason })
	}
	for _, err := range o.problems {
		in.addProblem(err)
	}
	in.writers.Merge(o.writers, func(_, _ *sequence.Set) {})
	for file, count := range o.files {
		c := order.At(in.files, file)
		*c = fileCount{
			entries:  c.entries + count.entries,
			promised: wide.AddSaturating(c.promised, count.promised),
			partials: c.partials + count.partials,
		}
	}
}

// envelope returns the current counts. newReport adds OverflowedGroups and the figures of the structure.
func (in *counter) envelope() Envelope {
	env := Envelope{
		Files: in.Files, Bytes: in.Bytes,
		Formats:      append([]string{}, in.Formats...),
		Spans:        in.Entries + in.NoOps,
		Entries:      in.Entries,
		Skipped:      in.NoOps,
		Malformed:    in.Malformed,
		Dropped:      in.Dropped,
		Truncated:    in.Truncated,
		Sampling:     in.sampling(),
		Sampler:      in.Sampler,
		DroppedLinks: in.DroppedLinks,
		Warnings:     in.warningsByName(),
		SkippedBy:    in.reasonsOf(skippedBy),
		Signals:      slices.Sorted(maps.Keys(in.signals)),
		MalformedBy:  in.reasonsOf(malformedBy),
		DroppedBy:    in.reasonsOf(droppedBy),
		// A file that has not ended cannot miss entries yet.
		MissingEntries: in.MissingEntries,
		BadProducts:    in.Mistakes.Products,
		BadProduct:     in.Mistakes.Product,
		TimeUnit:       in.Mistakes.timeUnit(in.Formats, in.Entries),
		Problems:       []string{},
		WorldSize:      in.WorldSize,
		Models:         slices.Clone(in.Models),
	}
	for _, reason := range opmodel.Unrecorded {
		if n, ok := env.DroppedBy[reason]; ok {
			if env.Unrecorded == nil {
				env.Unrecorded = make(map[string]int64)
			}
			env.Unrecorded[reason] = n
			delete(env.DroppedBy, reason)
		}
	}
	if env.TimeUnit != "" {
		env.EarlyStarts = in.Mistakes.Early
	}
	for numbers, other := range in.writers.All() {
		if !other {
			env.MissingBatches = wide.AddSaturating(env.MissingBatches, numbers.Missing())
			env.EarlierBatches = wide.AddSaturating(env.EarlierBatches, numbers.Before())
		}
	}
	for _, err := range in.problems {
		env.Problems = append(env.Problems, err.Error())
	}
	return env
}

func (in *counter) warningsByName() map[string]int64 {
	counts := make(map[string]int64)
	for bit, n := range in.warnings {
		if name := op.Warning(1 << bit).String(); n > 0 && name != "" {
			counts[name] = n
		}
	}
	return counts
}

func (in *counter) sampling() Sampling {
	switch {
	case in.Weighted == 0 && in.Sampler == "":
		return SamplingNone
	case in.Weighted == in.Entries && in.Weighted > 0:
		return SamplingKnown
	}
	return SamplingUnknown
}

func (in *counter) countReason(of int, reason string, n int64) {
	row, isNew := in.reasons[of].Row([]byte(reason))
	if isNew {
		row.Value.Reason = reason
	}
	row.Value.N = wide.AddSaturating(row.Value.N, n)
}

func (in *counter) reasonsOf(of int) map[string]int64 {
	counts := make(map[string]int64)
	for row, other := range in.reasons[of].All() {
		if other {
			counts[key.Other] = row.N
		} else {
			counts[row.Reason] = row.N
		}
	}
	return counts
}
