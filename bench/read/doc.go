// Package read compares reading files back: from bytes on disk to the sums of a
// report.
package read
