package read

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/ingest"
)

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

// readWith reads as the command optrace does where there are that many cores.
func readWith(workers int, path string) (*analyze.Report, error) {
	return analyze.Run(context.Background(), ingest.Open(path), analyze.Options{SumsOnly: true, Workers: workers})
}

// newProfile returns the Profile that peers add to, the same as ours.
func newProfile() *profile.Profile { return profile.New(profile.Options{}) }
