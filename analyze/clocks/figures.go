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

// Estimate says how far the clocks of ranks are apart.
type Estimate struct {
	// Reference is the rank whose clock the others are compared with: the lowest one of those that can be; nil for none.
	Reference *int64 `json:"reference_rank"`
	// MinCollectives is how many collectives two ranks must have in common to be compared.
	MinCollectives int64 `json:"min_collectives"`
	// Offsets has the ranks whose offset is known, the reference too, Unknown the other ranks with collectives.
	Offsets []Offset  `json:"offsets"`
	Unknown []Unknown `json:"unknown"`
}

// Offset says how far the clock of a rank is ahead.
type Offset struct {
	Rank int64 `json:"rank"`
	// OffsetNS is the time of the rank minus that of the reference.
	OffsetNS int64 `json:"offset_ns"`
	// Via is the rank that this one has collectives with, and Collectives their number;
	// unknown and 0 for the reference. The figures below are about these collectives.
	Via         op.Int `json:"via_rank"`
	Collectives int64  `json:"collectives"`
	// ResidualMedianNS and ResidualMaxNS are by how much the ends of collectives differ after the correction.
	ResidualMedianNS op.Int `json:"residual_median_ns"`
	ResidualMaxNS    op.Int `json:"residual_max_ns"`
	// DriftNSPerS is by how many nanoseconds in a second the clock gains on that of Via;
	// unknown where the collectives lie too close together in time.
	DriftNSPerS op.Float `json:"drift_ns_per_s"`
}

// Unknown is a rank whose offset is not known.
type Unknown struct {
	Rank int64 `json:"rank"`
	// Collectives is the number of collectives that the rank has with any others: each of
	// those has too few of them, or has no way to the reference itself.
	Collectives int64 `json:"collectives"`
}
