package clocks

import "github.com/optrace/optrace/op"

// Alignment says how far the clocks of ranks are apart, and what their times are on one clock.
// The figures of the report that depend on times are those on one clock; here they stand
// beside those of the times as recorded.
type Alignment struct {
	Estimate
	// Inferred is set where collectives carry no sequence numbers and were matched by their
	// place in the order of each rank.
	Inferred bool `json:"inferred"`
	// RecordedWallNS and WallNS are from the first start to the last end; unknown where no
	// offset is known.
	RecordedWallNS op.Int `json:"recorded_wall_ns"`
	WallNS         op.Int `json:"wall_ns"`
	// Collectives has the collectives that were looked at, by name and group, Ranks those
	// whose times were moved and the reference.
	Collectives []AlignedCollective `json:"collectives"`
	Ranks       []AlignedRank       `json:"ranks"`
}

// AlignedCollective says by how much the ranks of a collective begin and end apart at most.
type AlignedCollective struct {
	Name                   string `json:"name"`
	Group                  string `json:"group"`
	RecordedMaxStartSkewNS int64  `json:"recorded_max_start_skew_ns"`
	RecordedMaxEndSkewNS   int64  `json:"recorded_max_end_skew_ns"`
	MaxStartSkewNS         int64  `json:"max_start_skew_ns"`
	MaxEndSkewNS           int64  `json:"max_end_skew_ns"`
}

// AlignedRank has the first start and the last end of the operations of a rank.
type AlignedRank struct {
	Rank               int64  `json:"rank"`
	RecordedFirstStart op.Int `json:"recorded_first_start_unix_ns"`
	RecordedLastEnd    op.Int `json:"recorded_last_end_unix_ns"`
	FirstStart         op.Int `json:"first_start_unix_ns"`
	LastEnd            op.Int `json:"last_end_unix_ns"`
}
