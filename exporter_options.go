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
	if err := cfg.validate(); err != nil { // variables contradict each other
		otel.Handle(fmt.Errorf("optrace: ignoring the environment: %w", err))
		cfg = defaults
	}
	apply(&cfg, opts, ExporterOption.apply)
	return cfg, cfg.validate()
}

// readEnvironment applies the environment variables. Rotation is for files only.
func (cfg *exporterConfig) readEnvironment(toFile bool) {
	if os.Getenv("OPTRACE_FORMAT") == "arrow" { // a format of earlier versions
		env.Set("OPTRACE_FORMAT", func(string) error {
			return errors.New("the format arrow was withdrawn: entries with OPTRACE_COMPRESSION=zstd are small, " +
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
	var wrong env.Faults
	wrong.Add(cfg.output() == nil, "unknown format %d", cfg.format)
	wrong.Add(cfg.compression > CompressionZstd, "unknown compression %d", cfg.compression)
	wrong.Add(cfg.cacheBytes < 0, "cache size %d is negative", cfg.cacheBytes)
	if err := errors.Join(append(wrong, cfg.rotation.Validate())...); err != nil {
		return fmt.Errorf("optrace: new exporter: %w", err)
	}
	return nil
}

// output returns the implementation of the format, or nil.
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

// WithMapping sets the mapping of attributes to entries. The caller must not change m afterwards. Default: the
// conventions alone.
func WithMapping(m *attr.Mapping) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.mapping = m })
}

// Format is the format of an [Exporter]'s output.
type Format uint8

// The formats. The output has no footer and is valid at any time.
const (
	// FormatEntries is entries as JSON Lines (schema optrace.entries/v1), with gap records.
	FormatEntries Format = iota
	// FormatOTLPJSON is OTLP as JSON Lines, one TracesData object per batch, as the OpenTelemetry Collector reads and
	// writes it.
	FormatOTLPJSON
	// FormatOTLPProto is OTLP in protocol buffers: for each batch the length of a TracesData message in four bytes,
	// big-endian, and the message. Values invalid for backends count as dropped: numbers that are not finite, links to
	// the span itself or its parent.
	FormatOTLPProto
)

// String returns the format's name.
func (f Format) String() string {
	if e := (exporterConfig{format: f}).output(); e != nil {
		return e.Name()
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// WithFormat sets the format. OTLP has no gap records and sequence numbers: only [Exporter.Stats] shows losses.
// Default: OPTRACE_FORMAT, or [FormatEntries].
func WithFormat(f Format) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.format = f })
}

// Compression is the compression of an [Exporter]'s output.
type Compression uint8

// The compressions. Every batch is one gzip member or one zstd frame.
const (
	CompressionNone Compression = iota
	CompressionGzip
	CompressionZstd
)

// String returns the compression's name.
func (c Compression) String() string { return sink.Compression(c).String() }

// WithCompression compresses each batch separately. It suits large batches, as a [Processor] makes them. Default:
// OPTRACE_COMPRESSION, or [CompressionNone].
func WithCompression(c Compression) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) { cfg.compression = c })
}

// Rotation limits the files of a file exporter. A limit of 0 is off.
type Rotation struct {
	// MaxBytes is the largest size of a file. A larger batch gets a file of its own.
	MaxBytes int64
	// MaxAge is the largest age of a file when a batch is written, since its start or, after a restart of the program,
	// since the last rotation.
	MaxAge time.Duration
	// MaxTotalBytes bounds the current file and the rotated files in its directory, including files of earlier
	// processes. The exporter deletes the oldest files and counts them in [Stats]. It requires MaxBytes, and at least
	// this value.
	MaxTotalBytes int64
}

// WithRotation makes a file exporter rotate its file. The current file keeps its name. A full ops.jsonl is renamed to
//
//	ops-2026-11-21T00-32-27.391.jsonl
//
// by the time of the rotation in UTC, so that names sort in the order of the files. Rotation of anything but a regular
// file is an error.
//
// Default: OPTRACE_ROTATE_BYTES, OPTRACE_ROTATE_AGE and OPTRACE_MAX_TOTAL_BYTES, or no rotation.
func WithRotation(r Rotation) ExporterOption {
	return option[exporterConfig](func(cfg *exporterConfig) {
		cfg.rotation = rotate.Limits{MaxBytes: r.MaxBytes, MaxAge: r.MaxAge, MaxTotal: r.MaxTotalBytes}
	})
}
