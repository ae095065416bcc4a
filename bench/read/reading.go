package read

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/ingest"
)

type reader func(path string) (*analyze.Report, error)

// timing is a side that reads files, one after the other. Its sum is a digest of each report.
func timing(files []workload.File, read reader) measure.Side {
	return func(context.Context) (total measure.Sample, err error) {
		for _, file := range files {
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
			sum, err := digest(rep)
			if err != nil {
				return s, err
			}
			total.N += s.N
			total.CPU += s.CPU
			total.Wall += s.Wall
			total.Allocs += s.Allocs
			total.Sum += sum + "; "
		}
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

// readWith reads as the command optrace does where there are that many cores.
func readWith(workers int) reader {
	return func(path string) (*analyze.Report, error) {
		return analyze.Run(context.Background(), ingest.Open(path), analyze.Options{SumsOnly: true, Workers: workers})
	}
}

// newProfile returns the Profile that peers add to, the same as ours.
func newProfile() *profile.Profile { return profile.New(profile.Options{}) }
