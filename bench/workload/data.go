package workload

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/ingest"
)

// File is a file in the cache.
type File struct {
	Path string
	Summary
}

// Get returns the file of a configuration and format, which is made if it is not
// in the cache. It has just been read as a whole, so that it is in the page cache.
func Get(ctx context.Context, env *measure.Env, f Format, c Config) (File, error) {
	if err := c.validate(f); err != nil {
		return File{}, err
	}
	key, err := fingerprint(f, c)
	if err != nil {
		return File{}, err
	}
	path, err := env.Prepared(fmt.Sprintf("%s-%s-%s", f, c, key), func(path string) error {
		env.Log("preparing %d operations, %s, as %s", c.Ops, c.Kind, f)
		if c.Kind == Recorded {
			return writeRecorded(ctx, env, path, f, c)
		}
		return WriteFile(path, f, c)
	})
	if err != nil {
		return File{}, err
	}
	sum, err := Summarise(path)
	if err == nil && c.Kind != Recorded && sum.Ops != int64(c.Ops) {
		err = fmt.Errorf("%s holds %d operations", path, sum.Ops)
	}
	return File{path, sum}, err
}

// Summarise reads a file.
func Summarise(path string) (sum Summary, err error) {
	for rec, err := range ingest.Open(path).Records() {
		switch {
		case err != nil:
			return sum, err
		case rec.Entry != nil:
			sum.Ops++
			sum.Spans++
			sum.SumNS += rec.Entry.Duration
		case rec.Span != nil:
			sum.Spans++
		}
	}
	return sum, nil
}
