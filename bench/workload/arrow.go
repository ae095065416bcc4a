package workload

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/arrow"
)

// writeArrow makes a stream of the entries of the same configuration.
func writeArrow(ctx context.Context, env *measure.Env, path string, c Config) (Summary, error) {
	entries, err := Get(ctx, env, Entries, c)
	if err != nil {
		return Summary{}, err
	}
	src, err := os.Open(entries.Path)
	if err != nil {
		return Summary{}, err
	}
	defer func() { _ = src.Close() }() // it was only read
	return entries.Summary, create(path, func(file *os.File) error { return convertArrow(file, src) })
}

// convertArrow writes the records of entries JSON Lines.
func convertArrow(w io.Writer, entries io.Reader) error {
	out := arrow.NewWriter(w)
	for rec, err := range op.NewReader(entries, "entries").Records() {
		switch {
		case err != nil:
			return err
		case rec.Entry != nil:
			err = out.Entry(rec.Entry)
		case rec.Span != nil:
			err = out.Span(rec.Span)
		case rec.Resource != nil:
			err = out.Resource(rec.Resource)
		case rec.Batch != nil:
			err = out.Batch(rec.Batch)
		case rec.Gap != nil:
			err = fmt.Errorf("%d operations were lost", rec.Gap.Dropped)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// arrowFingerprint is that of entries JSON Lines once they are a stream. Batch
// records are left out, and the lines are sorted, as fingerprint explains.
func arrowFingerprint(text []byte) (string, error) {
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte(`{"batch":`)) {
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, bytes.Compare)
	sum := crc32.NewIEEE()
	if err := convertArrow(sum, bytes.NewReader(bytes.Join(lines, nil))); err != nil {
		return "", err
	}
	return fmt.Sprintf("%08x", sum.Sum32()), nil
}
