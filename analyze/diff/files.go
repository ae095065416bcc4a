package diff

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
)

// Files reads the runs of both sides, one after the other, and compares them like the command optrace diff. Each path
// is one run: a file or a directory in any format of [analyze.Files], or a report saved as JSON. opts.By groups the
// operations.
//
// Files returns the errors of [analyze.Files], [NewRun] and [Compare]. It may be called concurrently. A run alone on
// its side keeps [SampleBytes] per operation until Files returns, other runs keep only sums.
func Files(ctx context.Context, base, head []string, opts Options) (*Report, error) {
	single := len(base) == 1 && len(head) == 1
	var sides [2][]*Run
	for i, paths := range [][]string{base, head} {
		for _, path := range paths {
			run, err := readRun(ctx, path, opts.By, single)
			if err != nil {
				return nil, err
			}
			sides[i] = append(sides[i], run)
		}
	}
	return Compare(sides[0], sides[1], opts)
}

func readRun(ctx context.Context, path string, by []key.Key, single bool) (*Run, error) {
	report, err := openSavedReport(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if report == nil {
		report, err = analyze.Files(ctx, []string{path}, ReportOptions(by))
	}
	if err != nil {
		return nil, err
	}
	return NewRun(path, report, by, single)
}

// openSavedReport returns the saved report at path, nil for any other input.
func openSavedReport(path string) (*analyze.Report, error) {
	info, err := os.Stat(path)
	if path == ingest.Stdin || err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // analyze.Files reports the error
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	defer func() { _ = file.Close() }()
	return SavedReport(file)
}

// savedReport matches the beginning of a saved report.
var savedReport = regexp.MustCompile(`^\s*\{\s*"schema"\s*:\s*"` + regexp.QuoteMeta(analyze.Schema) + `"`)

// SavedReport reads a report saved as JSON. It returns nil if r begins with other data.
func SavedReport(r io.Reader) (*analyze.Report, error) {
	b := bufio.NewReader(r)
	if head, _ := b.Peek(256); !savedReport.Match(head) {
		return nil, nil
	}
	report := new(analyze.Report)
	dec := json.NewDecoder(b)
	if err := dec.Decode(report); err != nil {
		return nil, fmt.Errorf("reading a saved report: byte %d: %w", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a saved report: byte %d: data after the report", dec.InputOffset())
	}
	return report, nil
}
