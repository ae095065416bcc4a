// Package sequences finds sequences of short operations that repeat on a stream: candidates for one fused operation.
package sequences
