package clocks

import "github.com/optrace/optrace/op"

// Estimate says how far the clocks of ranks are apart.
type Estimate struct {
	// Reference is the rank whose clock the others are compared with: the lowest one of
	// those that can be compared; nil where none can.
	Reference *int64 `json:"reference_rank"`
	// MinCollectives is how many collectives two ranks must have in common to be compared.
	MinCollectives int64 `json:"min_collectives"`
	// Offsets has the ranks whose offset is known, that of the reference too.
	Offsets []Offset `json:"offsets"`
	// Unknown has the other ranks with collectives.
	Unknown []Unknown `json:"unknown"`
}

// Offset says how far the clock of a rank is ahead.
type Offset struct {
	Rank int64 `json:"rank"`
	// OffsetNS is the time of the rank minus that of the reference; negative where the rank
	// is behind.
	OffsetNS int64 `json:"offset_ns"`
	// Via is the rank that this one has collectives with, and Collectives their number;
	// unknown and 0 for the reference. The figures below are about these collectives.
	Via         op.Int `json:"via_rank"`
	Collectives int64  `json:"collectives"`
	// ResidualMedianNS and ResidualMaxNS are by how much the ends of collectives differ
	// after the correction, in the median and at most.
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
