// Package rank compares two samples by the ranks of their values, without assuming a normal distribution.
//
// Sources: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
// than the other" (1947), for the test; J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests"
// (1963), for the shift and its interval; S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
//
// Values must be finite. See analyze/diff for their meaning.
package rank
