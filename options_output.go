package optrace

import (
	"errors"
	"fmt"
	"time"
)

// Format is what an [Exporter] writes.
type Format uint8

// The formats. Each of them is valid at any time, without a footer.
const (
	// FormatEntries is entries as JSON Lines (schema optrace.entries/v1), with
	// records of what was lost between them.
	FormatEntries Format = iota
	// FormatOTLPJSON is OTLP as JSON Lines, a TracesData object per batch and
	// line, as the OpenTelemetry Collector reads and writes it.
	FormatOTLPJSON
	// FormatOTLPProto is OTLP in protocol buffers: per batch the length of a
	// TracesData message, four bytes, big-endian, and the message, byte for
	// byte what OpenTelemetry's own exporters send, but for what backends choke
	// on: numbers that are not finite, and links of a span to itself or its
	// parent, count as dropped.
	FormatOTLPProto
)

// String returns the format's name.
func (f Format) String() string {
	switch f {
	case FormatEntries:
		return "entries"
	case FormatOTLPJSON:
		return "otlp-json"
	case FormatOTLPProto:
		return "otlp-proto"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// encoding returns the format's implementation, nil for an unknown one.
func (f Format) encoding() format {
	switch f {
	case FormatEntries:
		return entriesFormat{}
	case FormatOTLPJSON:
		return otlpJSONFormat{}
	case FormatOTLPProto:
		return otlpProtoFormat{}
	}
	return nil
}

// Compression is how an [Exporter] compresses what it writes.
type Compression uint8

// The compressions. Every batch is a gzip member or a zstd frame of its own, so
// that what has been written can be read at any time by any tool.
const (
	NoCompression Compression = iota
	Gzip
	Zstd
)

// String returns the compression's name.
func (c Compression) String() string {
	switch c {
	case NoCompression:
		return "none"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

// WithFormat sets the format. The OTLP formats hold the operations, and the
// spans above them, as spans with all they carry; they have no place for gap
// records and sequence numbers, so that losses show in [Exporter.Stats] only.
// Default: [FormatEntries]; an unknown format is an error.
func WithFormat(f Format) Option {
	return option(func(cfg config) config {
		cfg.format = f
		return cfg
	})
}

// WithCompression compresses every batch on its own. Batches should be large
// then, as those of a [Processor] are. Default: [NoCompression]; an unknown
// compression is an error.
func WithCompression(c Compression) Option {
	return option(func(cfg config) config {
		cfg.compression = c
		return cfg
	})
}

// WithRotation makes a file exporter start a new file when a batch would make
// the current one larger than maxBytes, or when that is older than maxAge; 0 is
// no limit. Age counts from when the file was begun, which after a restart is
// taken to be the last rotation, and is looked at when a batch is written.
//
// The current file keeps its name. A full one is renamed to
//
//	ops-2026-11-21T00-32-27.391.jsonl
//
// for ops.jsonl, by the time of the rotation in UTC, and so that the names sort
// in the order of the files. A batch larger than maxBytes has a file of its own.
//
// Default: no rotation. A negative limit is an error, and so is rotation of
// what is no regular file.
func WithRotation(maxBytes int64, maxAge time.Duration) Option {
	return option(func(cfg config) config {
		cfg.rotation.maxBytes, cfg.rotation.maxAge = maxBytes, maxAge
		return cfg
	})
}

// WithMaxTotalBytes bounds a file exporter's current file and the rotated ones
// together: the oldest rotated files are deleted to make room, and counted in
// [Stats]. Only files in the same directory that are named as [WithRotation]
// names them are counted and deleted, those of earlier processes included.
// Default: no bound. It needs a rotation by size, of which it must leave room
// for one file; anything else is an error.
func WithMaxTotalBytes(n int64) Option {
	return option(func(cfg config) config {
		cfg.rotation.maxTotal = n
		return cfg
	})
}

// rotation says when a file ends. Limits that are 0 are off.
type rotation struct {
	maxBytes, maxTotal int64
	maxAge             time.Duration
}

func (r rotation) enabled() bool { return r != rotation{} }

func (r rotation) validate() error {
	var errs []error
	if r.maxBytes < 0 {
		errs = append(errs, fmt.Errorf("a file size of %d bytes is negative", r.maxBytes))
	}
	if r.maxAge < 0 {
		errs = append(errs, fmt.Errorf("a file age of %v is negative", r.maxAge))
	}
	switch {
	case r.maxTotal < 0:
		errs = append(errs, fmt.Errorf("a total of %d bytes is negative", r.maxTotal))
	case r.maxTotal > 0 && r.maxBytes <= 0:
		errs = append(errs, errors.New("a bound on the total needs rotation by size"))
	case r.maxTotal > 0 && r.maxTotal < r.maxBytes:
		errs = append(errs, fmt.Errorf("a total of %d bytes is below the %d of one file", r.maxTotal, r.maxBytes))
	}
	return errors.Join(errs...)
}
