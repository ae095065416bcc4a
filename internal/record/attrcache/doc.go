// Package attrcache maps attribute sets to their encoding. Programs run the
// same operations again and again, and looking a set up is much cheaper than
// encoding it.
//
// A [Cache] compares sets by memory: by the addresses of their strings and
// lists, of which it keeps a fingerprint, not by what is stored there. Prepared
// operations and those of a Tracer, which keeps the values of shapes, have the same
// addresses every time. Where few sets are found that way, the cache is bypassed
// for a while. The step and the device are not part of the comparison, see
// [Varying].
//
// A Cache holds at most as many bytes as it was made for, allocates nothing
// before its first lookup, and is used by one goroutine at a time. The encoders
// in internal/record/encoding/entries and internal/record/encoding/otlp use it; it knows
// nothing of their formats.
package attrcache
