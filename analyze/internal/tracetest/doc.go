// Package tracetest generates random operations and spans, and computes their figures in the simplest way, for the
// tests of package trace and of the analyses. It does not depend on package trace.
package tracetest
