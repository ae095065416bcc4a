// Package sequences finds sequences of short operations that come again and again on a stream:
// what could be one operation instead.
package sequences
