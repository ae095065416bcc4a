package optrace

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/internal/encoding/otlp"
	"github.com/optrace/optrace/internal/env"
	"github.com/optrace/optrace/internal/rotate"
	"github.com/optrace/optrace/internal/sink"
	"github.com/optrace/optrace/op"
)

// Option configures an [Exporter].
type Option interface{ apply(config) config }

type config struct {
	mapping     *op.Mapping
	format      Format
	compression Compression
	rotation    rotate.Limits
}

// newConfig applies the environment, as far as variables say, and then opts to
// the defaults. Nil options are ignored.
func newConfig(variables []env.Variable[config], opts []Option) (config, error) {
	cfg := env.Apply(config{}, variables)
	if err := cfg.validate(); err != nil { // values that do not go together
		otel.Handle(fmt.Errorf("optrace: ignoring the environment: %w", err))
		cfg = config{}
	}
	for _, o := range opts {
		if o != nil {
			cfg = o.apply(cfg)
		}
	}
	if err := cfg.validate(); err != nil {
		return cfg, fmt.Errorf("optrace: new exporter: %w", err)
	}
	return cfg, nil
}

func (cfg config) validate() error {
	var errs []error
	if cfg.format.encoding() == nil {
		errs = append(errs, fmt.Errorf("unknown format %d", cfg.format))
	}
	if cfg.compression > Zstd {
		errs = append(errs, fmt.Errorf("unknown compression %d", cfg.compression))
	}
	return errors.Join(append(errs, cfg.rotation.Validate())...)
}

type option func(config) config

func (o option) apply(cfg config) config { return o(cfg) }

// WithMapping makes the exporter read attributes as m says: with aliases for
// the keys of other instrumentation, and with further attributes kept in the
// entries. Default: the conventions alone. m must not be changed afterwards.
func WithMapping(m *op.Mapping) Option {
	return option(func(cfg config) config {
		cfg.mapping = m
		return cfg
	})
}

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
	if e := f.encoding(); e != nil {
		return e.Name()
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// encoding returns the format's implementation, nil for an unknown one.
func (f Format) encoding() encoding.Format {
	switch f {
	case FormatEntries:
		return entries.Format
	case FormatOTLPJSON:
		return otlp.JSON
	case FormatOTLPProto:
		return otlp.Proto
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
func (c Compression) String() string { return c.sink().String() }

func (c Compression) sink() sink.Compression { return sink.Compression(c) }

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
		cfg.rotation.MaxBytes, cfg.rotation.MaxAge = maxBytes, maxAge
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
		cfg.rotation.MaxTotal = n
		return cfg
	})
}

// exporterVariables set the defaults of every Exporter, fileVariables those of
// file exporters in addition.
var (
	exporterVariables = []env.Variable[config]{
		{Name: "OPTRACE_FORMAT", Set: func(cfg *config, v string) (err error) {
			cfg.format, err = env.OneOf(v, FormatEntries, FormatOTLPJSON, FormatOTLPProto)
			return err
		}},
		{Name: "OPTRACE_COMPRESSION", Set: func(cfg *config, v string) (err error) {
			cfg.compression, err = env.OneOf(v, NoCompression, Gzip, Zstd)
			return err
		}},
	}
	fileVariables = []env.Variable[config]{
		{Name: "OPTRACE_ROTATE_BYTES", Set: func(cfg *config, v string) error {
			return env.Int(&cfg.rotation.MaxBytes, v, 0)
		}},
		{Name: "OPTRACE_ROTATE_AGE", Set: func(cfg *config, v string) error {
			return env.Duration(&cfg.rotation.MaxAge, v, 0)
		}},
		{Name: "OPTRACE_MAX_TOTAL_BYTES", Set: func(cfg *config, v string) error {
			return env.Int(&cfg.rotation.MaxTotal, v, 0)
		}},
	}
)
