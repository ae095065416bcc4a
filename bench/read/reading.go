package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/bench/internal/data"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/ingest"
)

// reader reads a file to a report.
type reader func(path string) (*analyze.Report, error)

// timing is a side that reads the file and puts a digest of what it says into sum.
func timing(file data.File, read reader, sum *string) measure.Side {
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
		*sum, err = digest(rep)
		return s, err
	}
}

// digest sums up all that a report says of the operations.
func digest(rep *analyze.Report) (string, error) {
	figures := *rep
	figures.Input = analyze.Envelope{} // which file, not what is in it
	text, err := json.Marshal(&figures)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d operations, %d ns, report %08x", rep.Total.Count, rep.Total.SumNS, crc32.ChecksumIEEE(text)), nil
}

// readOurs reads as the command optrace does, with one worker.
func readOurs(path string) (*analyze.Report, error) { return readWith(1, path) }

// readWith reads as the command optrace does where there are that many cores.
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

// newProfile returns what peers add up with: the same as ours.
func newProfile() *analyze.Profile { return analyze.NewProfile(analyze.DefaultOptions()) }

func report(p *analyze.Profile) *analyze.Report {
	return analyze.NewReport(nil, p, nil, analyze.DefaultOptions())
}
