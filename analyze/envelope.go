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
	// Formats has the names of the files' formats, sorted.
	Formats []string `json:"format"`
	// Bytes is the size of the files as stored.
	Bytes int64 `json:"bytes"`
	// Spans is Entries plus Skipped.
	Spans   int64 `json:"spans"`
	Entries int64 `json:"entries"`
	// Skipped counts spans that are no operations.
	Skipped int64 `json:"skipped"`
	// Malformed counts records that could not be read.
	Malformed int64 `json:"malformed"`
	// Dropped counts operations that were recorded and lost before they were
	// written, as the gap records state.
	Dropped int64 `json:"dropped"`
	// Orphans counts operations whose parent is not in the input, Duplicates
	// spans that are there more than once; nil when the structure was not
	// computed.
	Orphans    op.Int `json:"orphans"`
	Duplicates op.Int `json:"duplicates"`
	// DuplicatesKept says which of the spans with an id stands in the tree, "first_in_input"; empty where no id is
	// there more than once.
	DuplicatesKept string `json:"duplicates_kept,omitempty"`
	// Repeated counts the duplicates with the start and duration of a record of
	// the same ids before them. They count in no figure but those of the input; nil
	// when the structure was not computed, and then they count like others.
	Repeated op.Int `json:"repeated"`
	// SuspectDurations counts the operations that are still running when a later operation of their
	// stream has ended, Clock the operations and spans that start more than a millisecond before their
	// parent starts or after it ends, Cycles the rings of parents, each of which was cut at the span
	// that starts first; nil when the structure was not computed.
	SuspectDurations op.Int `json:"suspect_durations"`
	Clock            op.Int `json:"clock"`
	Cycles           op.Int `json:"cycles"`
	// Suspects has the worst example of each of them; nil when the structure was not computed.
	Suspects []suspects.Suspect `json:"suspects"`
	// MissingLinks counts links to spans that are not in the input; nil when the
	// structure was not computed.
	MissingLinks op.Int `json:"missing_links"`
	// DroppedLinks counts links that the limits of recorders dropped, whose requests are not known.
	DroppedLinks int64 `json:"dropped_links,omitzero"`
	// DeviceClock says how far times may be off that come from the clocks of devices;
	// nil where none do that state it, and when the structure was not computed.
	DeviceClock *DeviceClock `json:"device_clock,omitempty"`
	// Truncated counts inputs that end within a record.
	Truncated int64 `json:"truncated"`
	// OverflowedGroups is how many groups lie beyond the limit and went into
	// rows named "(other)"; an estimate above 65536.
	OverflowedGroups int64    `json:"overflowed_groups"`
	Sampling         Sampling `json:"sampling"`
	// Sampler describes the sampler that left operations out, "" where the recording names none.
	Sampler string `json:"sampler,omitempty"`
	// Warnings counts entries by the fault of their source.
	Warnings map[string]int64 `json:"warnings"`
	// SkippedBy counts everything that was passed over by reason: the spans of
	// Skipped, and records of other kinds, which are no spans.
	SkippedBy map[string]int64 `json:"skipped_by"`
	// Signals has the signals of OTLP that were passed over, sorted: "metrics", "logs" and "profiles".
	Signals []string `json:"-"`
	// MalformedBy counts Malformed by [op.ErrorClass], DroppedBy Dropped by reason.
	MalformedBy map[string]int64 `json:"malformed_by"`
	DroppedBy   map[string]int64 `json:"dropped_by"`
	// MissingBatches counts the holes in the writers' batch numbers.
	MissingBatches int64 `json:"missing_batches"`
	// EarlierBatches counts the batches that the writers wrote before the first one of
	// theirs in the input: to files that are not in it, or that were removed.
	EarlierBatches int64 `json:"earlier_batches"`
	// MissingEntries counts entries that a batch record announced and that did
	// not follow or could not be read.
	MissingEntries int64 `json:"missing_entries"`
	// BadProducts counts the products of matrices whose shapes cannot be multiplied, such as BadProduct.
	BadProducts int64  `json:"bad_products,omitempty"`
	BadProduct  string `json:"bad_product,omitempty"`
	// TimeUnit is the unit in which times of EarlyStarts operations seem to be recorded that should be Unix nanoseconds:
	// "seconds", "milliseconds" or "microseconds"; empty where there is no doubt.
	TimeUnit    string `json:"time_unit,omitempty"`
	EarlyStarts int64  `json:"early_starts,omitempty"`
	// Problems describes the first records that could not be read, with their
	// positions.
	Problems []string `json:"problems"`
}

// DeviceClock describes the times that come from the clocks of devices.
type DeviceClock struct {
	// Entries counts the operations that state by how much their times may be off, and
	// MaxErrorNS is the largest of these bounds.
	Entries    int64 `json:"entries"`
	MaxErrorNS int64 `json:"max_error_ns"`
}

// Sampling describes the knowledge of the sampling probability of the entries.
type Sampling string

// The states of sampling.
const (
	// SamplingNone: no entry carries a sampling weight, and no sampler is named. A recorder may have left
	// operations out without a word.
	SamplingNone Sampling = "none"
	// SamplingKnown: every entry carries its weight, so that estimates for the
	// entries that were not sampled are sound.
	SamplingKnown Sampling = "known"
	// SamplingUnknown: some entries carry a weight and others do not, or none does and the recording names
	// a sampler that left operations out.
	SamplingUnknown Sampling = "unknown"
)

// The bounds of a counter.
const (
	maxReasons  = 64
	maxProblems = 10
	maxWriters  = 1 << 12
)

// counter counts the records of an input for the Envelope, including records that
// could not be read. Counters of parts of an input merge, in any order, to the
// counter of the whole. It is not safe for concurrent use.
type counter struct {
	counts
	signals  map[string]struct{}
	warnings [32]int64 // by bit of op.Warning
	reasons  [len(reasonTables)]*table.Table[reasonCount]
	problems []*op.SyntaxError
	writers  *table.Table[sequence.Set]

	// files has the counts of files by their numbers, inFile is that of the one that is read now.
	files  map[int64]*fileCount
	inFile *fileCount
}

// counts are the counts of an input that are numbers. Their JSON form is that of partial results.
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
}

// addFormat adds the format of a file, "" for an empty one.
func (c *counts) addFormat(name string) {
	if i, found := slices.BinarySearch(c.Formats, name); !found && name != "" {
		c.Formats = slices.Insert(c.Formats, i, name)
	}
}

// fileCount counts the entries of a file, the entries that its batch records announced,
// and the partial results, which bring the counts of the files that they were made of.
type fileCount struct{ entries, promised, partials int64 }

// The tables of a counter by reason, and their names in partial results.
const (
	skippedBy = iota
	malformedBy
	droppedBy
)

var reasonTables = [...]string{skippedBy: "skipped", malformedBy: "malformed", droppedBy: "dropped"}

// reasonCount counts the records of one reason. Its JSON form is that of partial results.
type reasonCount struct {
	Reason string `json:"reason"`
	N      int64  `json:"n"`
}

func (c *reasonCount) fold(src *reasonCount) { c.N = wide.AddSaturating(c.N, src.N) }

func newCounter() *counter {
	c := &counter{
		signals: make(map[string]struct{}), writers: table.New(maxWriters, (*sequence.Set).Merge), files: make(map[int64]*fileCount),
	}
	c.startFile(0)
	for i := range c.reasons {
		c.reasons[i] = table.New(maxReasons, (*reasonCount).fold)
	}
	return c
}

// add counts a record, or the error in its place. A
// *[op.SyntaxError] is a malformed record or, when the input ended within it,
// a truncated one; io.ErrUnexpectedEOF is a truncated input, io.EOF nothing,
// and any other error counts as malformed. Nothing of rec is kept.
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
	case rec.Gap != nil:
		in.Dropped = wide.AddSaturating(in.Dropped, max(0, rec.Gap.Dropped))
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

// addProblem keeps err if it is among the first ones by file and offset.
func (in *counter) addProblem(err *op.SyntaxError) {
	if n := len(in.problems); n == maxProblems {
		if last := in.problems[n-1]; last.File == err.File && last.Line < err.Line {
			return // as nearly all are that follow many others
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

// endFiles ends the files, given their formats and sizes in order. Only now are
// those entries counted as missing that batch records announced.
func (in *counter) endFiles(files iter.Seq2[string, int64]) {
	file := int64(0)
	for format, bytes := range files {
		in.startFile(file)
		in.endFile(format, bytes)
		file++
	}
}

// endFile ends the current file, which does not count itself where it has partial results.
func (in *counter) endFile(format string, bytes int64) {
	if in.inFile.partials == 0 {
		in.Files++
		in.Bytes += bytes
		in.addFormat(format)
	}
	in.MissingEntries = wide.AddSaturating(in.MissingEntries, max(0, in.inFile.promised-in.inFile.entries))
	*in.inFile = fileCount{}
}

// merge adds the counts of o, which does not change.
func (in *counter) merge(o *counter) {
	in.Files += o.Files
	in.Bytes += o.Bytes
	for _, format := range o.Formats {
		in.addFormat(format)
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
		*c = fileCount{c.entries + count.entries, wide.AddSaturating(c.promised, count.promised), c.partials + count.partials}
	}
}

// envelope returns the counts so far. OverflowedGroups and what the structure
// tells are left to newReport.
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
		// A file that has not ended promises nothing yet.
		MissingEntries: in.MissingEntries,
		BadProducts:    in.Mistakes.Products,
		BadProduct:     in.Mistakes.Product,
		TimeUnit:       in.Mistakes.timeUnit(in.Formats, in.Entries),
		Problems:       []string{},
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
