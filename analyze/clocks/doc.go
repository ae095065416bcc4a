// Package clocks estimates the offsets between the clocks of ranks.
//
// A collective of waiting ranks ends for all of them at about the same time. The difference between the ends recorded
// by two ranks is the offset of their clocks plus the time of the last messages. The offset is the median of the
// differences, robust against a few late ends. Ranks without a common collective are compared through others: the
// offset of a rank is the offset of a rank one step nearer to the reference plus the median between the two.
//
// Limits: an error shared by all collectives, such as a rank that always records ends late, looks like an offset. A
// clock that runs faster has one offset here, with its drift beside it. The residuals measure the fit.
//
// [Align] uses the collectives of a forest, joined by package collective, and moves the times of ranks onto one clock.
package clocks
