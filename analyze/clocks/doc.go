// Package clocks estimates how far the clocks of ranks are apart.
//
// A collective that all of its ranks wait for ends for all of them at about the same time. By
// how much the ends that two ranks recorded differ is how far their clocks are apart, plus the
// time that the last messages took. The offset of two clocks is the median of the differences, so that a few
// collectives which ended late for one of them change nothing. Ranks that have no collective
// in common are compared by way of others: each rank's offset is that of a rank one step nearer
// to the reference plus the median between the two.
//
// Its limits: an error that all collectives share, such as a rank that always learns of the
// end later than the others, looks like an offset. A clock that runs faster than another has
// one offset here, and the drift is stated beside it. The residuals say how well the offset
// fits.
//
// [Align] takes the collectives of a forest that end at once, as package collective joins
// them, and moves the times of ranks onto one clock.
package clocks
