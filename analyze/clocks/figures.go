package clocks

import (
	"fmt"

	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Alignment has the offsets of the ranks' clocks, and times before and after alignment.
type Alignment struct {
	Estimate
	// Inferred is set if collectives without sequence numbers were matched by their order on each rank.
	Inferred bool `json:"inferred"`
	// RecordedWallNS and WallNS are from the first start to the last end, unknown if no offset is known.
	RecordedWallNS op.Int `json:"recorded_wall_ns"`
	WallNS         op.Int `json:"wall_ns"`
	// Collectives has the compared collectives, by name and group, Ranks the moved ranks and the reference.
	Collectives []AlignedCollective `json:"collectives"`
	Ranks       []AlignedRank       `json:"ranks"`
}

// AlignedCollective has the largest differences between the starts and the ends of ranks in collectives of a name.
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

// Estimate has the offsets between the clocks of ranks.
type Estimate struct {
	// Reference is the rank of the reference clock: the lowest connected rank, nil without one.
	Reference *int64 `json:"reference_rank"`
	// MinCollectives is the least number of collectives of two ranks for a comparison.
	MinCollectives int64 `json:"min_collectives"`
	// Offsets has the ranks with a known offset and the reference, Unknown the other ranks with collectives.
	Offsets []Offset  `json:"offsets"`
	Unknown []Unknown `json:"unknown"`
}

// Text states the offset in one sentence without its end.
func (o *Offset) Text() string {
	ahead := "ahead of"
	if o.OffsetNS < 0 {
		ahead = "behind"
	}
	return fmt.Sprintf("Clocks of ranks differ: rank %d is %s %s the reference, by the ends of %s", o.Rank,
		units.Duration(max(o.OffsetNS, -o.OffsetNS)), ahead, units.Plural(o.Collectives, "collective"))
}

// Offset is the offset of the clock of a rank.
type Offset struct {
	Rank int64 `json:"rank"`
	// OffsetNS is the time of the rank minus the time of the reference.
	OffsetNS int64 `json:"offset_ns"`
	// Via is the compared rank, unknown for the reference, Collectives the number of common collectives.
	Via         op.Int `json:"via_rank"`
	Collectives int64  `json:"collectives"`
	// ResidualMedianNS and ResidualMaxNS are the differences between the ends of collectives after the correction.
	ResidualMedianNS op.Int `json:"residual_median_ns"`
	ResidualMaxNS    op.Int `json:"residual_max_ns"`
	// DriftNSPerS is the gain on Via's clock per second, unknown if the collectives are too close in time.
	DriftNSPerS op.Float `json:"drift_ns_per_s"`
}

// Unknown is a rank with an unknown offset.
type Unknown struct {
	Rank int64 `json:"rank"`
	// Collectives counts the rank's collectives with others, too few with any connected rank.
	Collectives int64 `json:"collectives"`
}
