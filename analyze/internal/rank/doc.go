// Package rank compares two samples by the ranks of their values, without the assumption that
// these follow a normal distribution. Its sources are H. B. Mann and D. R. Whitney, "On a test
// of whether one of two random variables is stochastically larger than the other" (1947), for
// the test, J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests" (1963),
// for the shift with its interval, and S. Holm, "A simple sequentially rejective multiple test
// procedure" (1979).
//
// Values are finite. The package does not know what they measure; see analyze/diff.
package rank
