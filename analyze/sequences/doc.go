// Package sequences finds repeated sequences of short operations on a stream: candidates for one fused operation.
package sequences
