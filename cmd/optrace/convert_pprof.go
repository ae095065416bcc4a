package main

import (
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/pprof"
)

// pprofConverter writes a profile, for which it needs the structure of the whole
// input.
type pprofConverter struct {
	out    *output
	forest *analyze.Forest
	lost   int64 // operations that the recorder says it lost
	unread int64 // records that could not be read
}

func newPprofConverter(out *output) (converter, error) {
	c := &pprofConverter{out: out, forest: analyze.NewForest()}
	c.forest.KeepShapes()
	return c, nil
}

func (c *pprofConverter) record(rec op.Record) error {
	c.forest.Add(rec)
	if rec.Gap != nil {
		c.lost += rec.Gap.Dropped
	}
	return nil
}

func (c *pprofConverter) holds() int64 { return c.forest.Bytes() }

func (c *pprofConverter) leftOut(records int64) { c.unread = records }

func (c *pprofConverter) end() error {
	opts := pprof.Options{Version: versionOf(buildInfo()), Lost: c.lost, Unread: c.unread}
	return pprof.Write(c.out, c.forest.Stacks(), opts)
}
