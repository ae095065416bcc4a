package analyze

import (
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
)

// partialLine is a line of partial results: the first one has a schema and options, and any
// other one of the rest. Lines of a table follow one another, that of the rows beyond the
// limit last.
type partialLine struct {
	Schema  string          `json:"schema,omitempty"`
	Options *partialOptions `json:"options,omitempty"`
	Input   *inputForm      `json:"input,omitempty"`
	Reason  *reasonForm     `json:"reason,omitempty"`
	Writer  *writerForm     `json:"writer,omitempty"`
	profile.Line
	End *endForm `json:"end,omitempty"`
}

// partialOptions are the options that shape the sums, with the defaults in place.
type partialOptions struct {
	By            []string       `json:"by,omitempty"`
	MaxGroups     int            `json:"max_groups"`
	Top           int            `json:"top"`
	HotspotBytes  int64          `json:"hotspot_bytes"`
	RecordedFLOPs bool           `json:"recorded_flops,omitempty"`
	Peaks         []peaks.Device `json:"peaks,omitempty"`
}

// inputForm are the counts of a counter.
type inputForm struct {
	counts
	Warnings map[string]int64 `json:"warnings,omitempty"`
	Problems []problemForm    `json:"problems,omitempty"`
}

type problemForm struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// reasonForm is a row of one of the reasonTables.
type reasonForm struct {
	Of     string       `json:"of"`
	Reason string       `json:"reason"`
	N      int64        `json:"n"`
	Other  *table.Other `json:"other,omitempty"`
}

// writerForm has the numbers of the batches of a writer, in ranges.
type writerForm struct {
	Writer  string       `json:"writer"`
	Batches [][2]int64   `json:"batches"`
	Other   *table.Other `json:"other,omitempty"`
}

// endForm counts the lines in front of it.
type endForm struct {
	Lines int64 `json:"lines"`
}
