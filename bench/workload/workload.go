// Package workload makes the data that the comparisons of this module are
// measured on: the tensor operations of training steps, with the spans of layers
// and steps above them.
//
// Three kinds of data are simulated: a graph of 2,000 operations of 40 kinds in
// 100 layers is run again and again on each of 8 devices. Everything follows from
// [Config]: the same configuration gives the same spans. They pass through
// OpenTelemetry's SDK, and into files as the documented set-up writes them. The
// fourth kind is recorded: the quickstart example trains its network.
package workload

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
)

// Version changes whenever the same Config gives other spans or files than
// before, so that files kept from earlier versions are not mistaken for these.
const Version = 3

// Kind is a kind of data: how the operations of the devices follow one another,
// and how often they repeat.
type Kind string

// The kinds.
const (
	// G512 is the graph with a process per device, as the ranks of a job write
	// it: 512 spans of one, then 512 of the next, always in the same order.
	G512 Kind = "g512"
	// G1 is the same graph in one process that drives all devices: from span to
	// span the device changes at random.
	G1 Kind = "g1"
	// Random has as many operations, in one process and on a random device each,
	// but every one of them has shapes of its own: attributes hardly ever repeat.
	Random Kind = "random"
	// Recorded is what the quickstart example records: few distinct operations,
	// on devices that really run at the same time.
	Recorded Kind = "recorded"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{G512, G1, Random, Recorded} }

// Format is a form in which spans are written.
type Format string

// The formats.
const (
	// Entries is optrace's entries JSON Lines, written by Processor and Exporter.
	Entries Format = "entries"
	// OTLPJSON is a TracesData object per line, as the Collector writes it.
	OTLPJSON Format = "otlp-json"
	// OTLPProto is a TracesData message at a time, as the Collector writes it, each
	// behind its length in four bytes, big-endian.
	OTLPProto Format = "otlp-proto"
	// OTLPMessage is one TracesData message in protobuf.
	OTLPMessage Format = "otlp-message"
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{Entries, OTLPJSON, OTLPProto, OTLPMessage}
}

// Config selects spans.
type Config struct {
	Kind Kind
	// Ops is the number of operations, of Recorded about that many. The spans of
	// layers and steps, one for every twenty operations or so, come on top.
	Ops int
	// Seed makes other spans of the same kind. Recorded has none.
	Seed uint64
}

// String names the configuration: equal names mean equal spans.
func (c Config) String() string {
	return fmt.Sprintf("v%d-%s-%d-%d", Version, c.Kind, c.Ops, c.Seed)
}

func (c Config) validate(f Format) error {
	if !slices.Contains(Kinds(), c.Kind) {
		return fmt.Errorf("unknown kind %q: there are %v", c.Kind, Kinds())
	}
	if !slices.Contains(Formats(), f) {
		return fmt.Errorf("unknown format %q: there are %v", f, Formats())
	}
	if c.Ops < 1 {
		return fmt.Errorf("%d operations are less than one", c.Ops)
	}
	return nil
}

func (c Config) processes() int {
	if c.Kind == G512 {
		return numDevices
	}
	return 1
}

// Summary is what the spans of a file add up to.
type Summary struct {
	// Ops and Spans count the operations and all spans.
	Ops, Spans int64
	// SumNS is the sum of the operations' durations in nanoseconds.
	SumNS int64
}

// WriteFile writes simulated spans to a file, which is replaced.
func WriteFile(path string, f Format, c Config) error {
	if err := c.validate(f); err != nil {
		return err
	}
	if c.Kind == Recorded {
		return fmt.Errorf("%s is not simulated", c.Kind)
	}
	return Create(path, func(file *os.File) error { return writeSpans(file, f, c) })
}

// fingerprint identifies what the writer of a format makes of a configuration by
// its first operations, so that files of other versions of the writers are not
// mistaken for those of this one.
func fingerprint(f Format, c Config) (string, error) {
	const sample = 500
	c.Ops = min(c.Ops, sample)
	if c.Kind == Recorded {
		c.Kind = G1
	}
	dir, err := os.MkdirTemp("", "fingerprint-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := dir + "/spans"
	if err := WriteFile(path, f, c); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	// A sum: the lines of goroutines on different processors may change places.
	sum := uint32(0)
	for line := range bytes.Lines(text) {
		// Batch records name their writer, which is another one each time.
		if !bytes.HasPrefix(line, []byte(`{"batch":`)) {
			sum += crc32.ChecksumIEEE(line)
		}
	}
	return fmt.Sprintf("%08x", sum), nil
}
