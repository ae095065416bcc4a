// Package tracetest has operations and spans for the tests of package trace and of the analyses,
// and what they tell by the plainest means. It knows nothing of package trace, so that the tests
// of that can use it.
package tracetest
