package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Format is a form in which spans are written.
type Format string

// The formats.
const (
	// OTLPJSON is a TracesData object per line, written by pdata.
	OTLPJSON Format = "otlp-json"
	// OTLPProto is a TracesData message at a time, written by pdata, each behind
	// its length in four bytes, big-endian.
	OTLPProto Format = "otlp-proto"
	// Entries is optrace's entries JSON Lines, written by its exporter.
	Entries Format = "entries"
)

// BatchSize is how many spans are written at a time, as the SDK's batch
// processor exports them.
const BatchSize = 512

// Summary is what the spans of a file add up to.
type Summary struct {
	// Ops and Spans count the operations and all spans.
	Ops, Spans int64
	// SumNS is the sum of the operations' durations in nanoseconds.
	SumNS int64
}

// batchWriter writes batches of spans.
type batchWriter interface {
	write(spans []Span) error
	close() error
}

func newBatchWriter(w io.Writer, f Format, c Config) (batchWriter, error) {
	switch f {
	case OTLPJSON:
		return newOTLPJSONWriter(w, c), nil
	case OTLPProto:
		return newOTLPProtoWriter(w, c), nil
	case Entries:
		return newEntriesWriter(w, c)
	}
	return nil, fmt.Errorf("unknown format %q: there are %s, %s and %s", f, OTLPJSON, OTLPProto, Entries)
}

// Write writes the spans to w.
func Write(w io.Writer, f Format, c Config) (Summary, error) {
	var sum Summary
	spans, err := c.Spans()
	if err != nil {
		return sum, err
	}
	bw, err := newBatchWriter(w, f, c)
	if err != nil {
		return sum, err
	}
	batch := make([]Span, 0, BatchSize)
	for s := range spans {
		sum.Spans++
		if s.Op != nil {
			sum.Ops++
			sum.SumNS += s.End - s.Start
		}
		if batch = append(batch, s); len(batch) == BatchSize {
			if err := bw.write(batch); err != nil {
				return sum, err
			}
			batch = batch[:0]
		}
	}
	return sum, errors.Join(bw.write(batch), bw.close())
}

// WriteFile writes the spans to a file, which is replaced.
func WriteFile(path string, f Format, c Config) (sum Summary, err error) {
	file, err := os.Create(path)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buf := bufio.NewWriterSize(file, 1<<20)
	if sum, err = Write(buf, f, c); err != nil {
		return sum, fmt.Errorf("writing %s: %w", path, err)
	}
	return sum, buf.Flush()
}
