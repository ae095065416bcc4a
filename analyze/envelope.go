package analyze

// Envelope tells what a report was computed from, and what is wrong with it.
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
	Orphans    *int64 `json:"orphans"`
	Duplicates *int64 `json:"duplicates"`
	// Truncated counts inputs that end within a record.
	Truncated int64 `json:"truncated"`
	// OverflowedGroups is how many groups lie beyond the limit and went into
	// rows named "(other)"; an estimate above 65536.
	OverflowedGroups int64    `json:"overflowed_groups"`
	Sampling         Sampling `json:"sampling"`
	// Warnings counts entries by what was wrong with their source.
	Warnings map[string]int64 `json:"warnings"`
	// SkippedBy counts everything that was passed over by reason: the spans of
	// Skipped, and records of other kinds, which are no spans.
	SkippedBy map[string]int64 `json:"skipped_by"`
	// MalformedBy counts Malformed by [op.ErrorClass], DroppedBy Dropped by reason.
	MalformedBy map[string]int64 `json:"malformed_by"`
	DroppedBy   map[string]int64 `json:"dropped_by"`
	// MissingBatches counts the holes in the writers' batch numbers.
	MissingBatches int64 `json:"missing_batches"`
	// MissingEntries counts entries that a batch record announced and that did
	// not follow or could not be read.
	MissingEntries int64 `json:"missing_entries"`
	// Problems describes the first records that could not be read, with their
	// positions.
	Problems []string `json:"problems"`
}

// Sampling tells what is known of the probability with which the entries were
// sampled.
type Sampling string

// The states of sampling.
const (
	// SamplingNone: no entry carries a sampling weight.
	SamplingNone Sampling = "none"
	// SamplingKnown: every entry carries its weight, so that estimates of what
	// was not sampled are sound.
	SamplingKnown Sampling = "known"
	// SamplingUnknown: some entries carry a weight and others do not.
	SamplingUnknown Sampling = "unknown"
)
