// Package attrcache maps attribute sets to their encoding. Programs repeat the same operations, and looking up a set is
// much cheaper than encoding it.
//
// A [Cache] compares sets by memory: by a fingerprint of the addresses of their strings and lists, not by the content.
// Prepared operations and operations of a Tracer, which keeps the values of shapes, have the same addresses every time. At
// a low hit rate the cache is bypassed for a while. The step and the device are not compared, see [Varying].
//
// A Cache holds a bounded number of bytes, allocates only after its first lookup, and is not safe for concurrent use. The
// encoders in internal/record/encoding/entries and internal/record/encoding/otlp use it.
package attrcache
