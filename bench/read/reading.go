package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/ingest"
)

// reader reads a file to a report.
type reader func(path string) (*analyze.Report, error)

// timing is a side that reads the file. Its sum is a digest of the report.
func timing(file workload.File, read reader) measure.Side {
	return func(context.Context) (measure.Sample, error) {
		var rep *analyze.Report
		s, err := measure.Timed(file.Spans, func() (err error) {
			rep, err = read(file.Path)
			return err
		})
		if err != nil {
			return s, fmt.Errorf("reading %s: %w", file.Path, err)
		}
		if rep.Total.Count != file.Ops || rep.Total.SumNS != file.SumNS {
			return s, fmt.Errorf("reading %s: %d operations of %d ns, want %d of %d ns",
				file.Path, rep.Total.Count, rep.Total.SumNS, file.Ops, file.SumNS)
		}
		s.Sum, err = digest(rep)
		return s, err
	}
}

// inTurn is a side that runs others one after the other.
func inTurn(sides []measure.Side) measure.Side {
	return func(ctx context.Context) (measure.Sample, error) {
		var total measure.Sample
		var sums []string
		for _, side := range sides {
			s, err := side(ctx)
			if err != nil {
				return total, err
			}
			total.N += s.N
			total.CPU += s.CPU
			total.Wall += s.Wall
			total.Allocs += s.Allocs
			sums = append(sums, s.Sum)
		}
		total.Sum = strings.Join(sums, "; ")
		return total, nil
	}
}

// digest sums up the figures of a report.
func digest(rep *analyze.Report) (string, error) {
	figures := *rep
	figures.Input = analyze.Envelope{} // about the file, not the operations
	text, err := json.Marshal(&figures)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d operations, %d ns, report %08x", rep.Total.Count, rep.Total.SumNS, crc32.ChecksumIEEE(text)), nil
}

// readOurs and readOursTwice read as the command optrace does, with one worker and with two.
func readOurs(path string) (*analyze.Report, error)      { return readWith(1, path) }
func readOursTwice(path string) (*analyze.Report, error) { return readWith(2, path) }

// readWith reads as the command optrace does with that many cores.
func readWith(workers int, path string) (*analyze.Report, error) {
	parts := ingest.Options{}.Parts(path)
	collectors, errs := make([]*analyze.Collector, workers), make([]error, workers)
	var running sync.WaitGroup
	for i := range workers {
		collectors[i] = analyze.NewCollector(analyze.DefaultOptions(), false)
		running.Go(func() {
			if errs[i] = collect(collectors[i], parts); errs[i] != nil {
				parts.Stop()
			}
		})
	}
	running.Wait()
	return analyze.MergeCollectors(collectors...).Report(), errors.Join(errs...)
}

// collect adds the parts that a worker gets.
func collect(c *analyze.Collector, parts *ingest.Parts) error {
	for part, records := range parts.Worker() {
		c.StartFile(part.File)
		c.StartChunk(part.Number)
		for rec, err := range records {
			if err := c.Add(rec, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// newProfile returns the Profile that peers add to, the same as ours.
func newProfile() *analyze.Profile { return analyze.NewProfile(analyze.DefaultOptions()) }

func report(p *analyze.Profile) *analyze.Report {
	return analyze.NewReport(nil, p, nil, analyze.DefaultOptions())
}
