package optrace

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/op/attr"
)

// ExporterOption configures an [Exporter].
type ExporterOption interface{ apply(*exporterConfig) }

// faults are what is wrong with options.
type faults []error

// add adds a fault, if it is there.
func (f *faults) add(is bool, format string, args ...any) {
	if is {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

type exporterConfig struct {
	mapping     *attr.Mapping
	format      Format
	compression Compression
	cacheBytes  int64
	rotation    rotate.Limits
}

// newExporterConfig applies the environment and then opts to the defaults.
func newExporterConfig(toFile bool, opts []ExporterOption) (exporterConfig, error) {
	defaults := exporterConfig{cacheBytes: encoding.DefaultCacheBytes}
	cfg := defaults
	cfg.readEnvironment(toFile)
	if err := cfg.validate(); err != nil { // values that do not go together
		otel.Handle(fmt.Errorf("optrace: ignoring the environment: %w", err))
		cfg = defaults
	}
	apply(&cfg, opts, ExporterOption.apply)
	return cfg, cfg.validate()
}

// readEnvironment sets what variables say; some of them are for files.
func (cfg *exporterConfig) readEnvironment(toFile bool) {
	if os.Getenv("OPTRACE_FORMAT") == "arrow" { // which earlier versions wrote
		env.Set("OPTRACE_FORMAT", func(string) error {
			return errors.New("the format arrow was withdrawn: entries with OPTRACE_COMPRESSION=zstd are small files, " +
				`and "optrace convert -to parquet" makes tables of them`)
		})
	} else {
		env.Choice("OPTRACE_FORMAT", &cfg.format, FormatEntries, FormatOTLPJSON, FormatOTLPProto)
	}
	env.Choice("OPTRACE_COMPRESSION", &cfg.compression, CompressionNone, CompressionGzip, CompressionZstd)
	if toFile {
		env.Int("OPTRACE_ROTATE_BYTES", &cfg.rotation.MaxBytes, 0)
		env.Duration("OPTRACE_ROTATE_AGE", &cfg.rotation.MaxAge, 0)
		env.Int("OPTRACE_MAX_TOTAL_BYTES", &cfg.rotation.MaxTotal, 0)
	}
}

func (cfg exporterConfig) validate() error {
	var wrong faults
	wrong.add(cfg.output() == nil, "unknown format %d", cfg.format)
	wrong.add(cfg.compression > CompressionZstd, "unknown compression %d", cfg.compression)
	wrong.add(cfg.cacheBytes < 0, "cache size %d is negative", cfg.cacheBytes)
	if err := errors.Join(append(wrong, cfg.rotation.Validate())...); err != nil {
		return fmt.Errorf("optrace: new exporter: %w", err)
	}
	return nil
}

// output returns the format's implementation, nil for an unknown one.
func (cfg exporterConfig) output() encoding.Format {
	switch cfg.format {
	case FormatEntries:
		return entries.Format
	case FormatOTLPJSON:
		return otlp.JSON
	case FormatOTLPProto:
		return otlp.Proto
	}
	return nil
}

// WithMapping makes the Exporter read attributes as m says, which must not be changed afterwards.
// Default: the conventions alone.
func WithMapping(m *attr.Mapping) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.mapping = m })
}

// Format is the format of an [Exporter]'s output.
type Format uint8

// The formats. The output is valid at any time, without a footer.
const (
	// FormatEntries is entries as JSON Lines (schema optrace.entries/v1), with
	// gap records of the losses between them.
	FormatEntries Format = iota
	// FormatOTLPJSON is OTLP as JSON Lines, a TracesData object per batch and
	// line, as the OpenTelemetry Collector reads and writes it.
	FormatOTLPJSON
	// FormatOTLPProto is OTLP in protocol buffers: per batch the length of a TracesData message, four
	// bytes, big-endian, and the message, as OpenTelemetry's own exporters send it. Parts that
	// backends cannot process count as dropped: numbers that are not finite, links to the span
	// itself or its parent.
	FormatOTLPProto
)

// String returns the format's name.
func (f Format) String() string {
	if e := (exporterConfig{format: f}).output(); e != nil {
		return e.Name()
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// WithFormat sets the format. The OTLP formats have no place for gap records and sequence numbers:
// losses show in [Exporter.Stats] only. Default: OPTRACE_FORMAT, or [FormatEntries].
func WithFormat(f Format) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.format = f })
}

// Compression is how an [Exporter] compresses its output.
type Compression uint8

// The compressions. Every batch is a gzip member or a zstd frame of its own.
const (
	CompressionNone Compression = iota
	CompressionGzip
	CompressionZstd
)

// String returns the compression's name.
func (c Compression) String() string { return sink.Compression(c).String() }

// WithCompression compresses every batch on its own. Batches should be large then, as those of a
// [Processor] are. Default: OPTRACE_COMPRESSION, or [CompressionNone].
func WithCompression(c Compression) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.compression = c })
}

// Rotation says when a file exporter starts a new file, and how much it keeps.
// Limits that are 0 are off.
type Rotation struct {
	// MaxBytes is the largest size of a file. A batch that is larger has a file of its own.
	MaxBytes int64
	// MaxAge is how old a file may become when a batch is written. Age counts from when the file
	// was started, after a restart from the last rotation.
	MaxAge time.Duration
	// MaxTotalBytes bounds the current file and the rotated ones in its directory together, those
	// of earlier processes included: the oldest are deleted to make room, and counted in [Stats].
	// It needs MaxBytes and must be at least that.
	MaxTotalBytes int64
}

// WithRotation makes a file exporter rotate its file. The current file keeps its
// name; a full one is renamed to
//
//	ops-2026-11-21T00-32-27.391.jsonl
//
// for ops.jsonl, by the time of the rotation in UTC, so that the names sort in
// the order of the files.
//
// Default: OPTRACE_ROTATE_BYTES, OPTRACE_ROTATE_AGE and OPTRACE_MAX_TOTAL_BYTES, or no rotation.
// Rotation of anything but a regular file is an error.
func WithRotation(r Rotation) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) {
		cfg.rotation = rotate.Limits{MaxBytes: r.MaxBytes, MaxAge: r.MaxAge, MaxTotal: r.MaxTotalBytes}
	})
}
