package main

import (
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
	"github.com/optrace/optrace/render/pprof"
)

// profileConverter writes a profile in some format, for which it needs the structure of
// the whole input.
type profileConverter struct {
	out    *output
	forest *trace.Forest
	lost   int64 // operations that the recorder says it lost
	unread int64 // records that could not be read
	from   otlpprofiles.Producers
	write  func(*profileConverter, *stacks.Table) error
}

// newProfileConverter returns what creates a converter to a format.
func newProfileConverter(write func(*profileConverter, *stacks.Table) error) func(*output) (converter, error) {
	return func(out *output) (converter, error) {
		c := &profileConverter{out: out, forest: trace.New(), write: write}
		c.forest.KeepShapes()
		return c, nil
	}
}

func (c *profileConverter) record(rec op.Record) error {
	c.forest.Add(rec)
	switch {
	case rec.Resource != nil:
		c.from.Resource(rec.Resource)
	case rec.Entry != nil:
		c.from.Operation(rec.Entry)
	case rec.Gap != nil:
		c.lost += rec.Gap.Dropped
	}
	return nil
}

func (c *profileConverter) holds() int64 { return c.forest.Bytes() }

func (c *profileConverter) leftOut(records int64) { c.unread = records }

func (c *profileConverter) end() error { return c.write(c, stacks.Of(c.forest)) }

// options returns what the profile tells about itself.
func (c *profileConverter) options() pprof.Options {
	return pprof.Options{Version: versionOf(buildInfo()), Lost: c.lost, Unread: c.unread}
}

// otlpOptions returns what the profiles tell about themselves.
func (c *profileConverter) otlpOptions() otlpprofiles.Options {
	return otlpprofiles.Options{Options: c.options(), Producers: &c.from}
}

func writePprof(c *profileConverter, t *stacks.Table) error {
	return pprof.Write(c.out, t, c.options())
}

func writeOTLPProfiles(c *profileConverter, t *stacks.Table) error {
	return otlpprofiles.Write(c.out, t, c.otlpOptions())
}

func writeOTLPProfilesJSON(c *profileConverter, t *stacks.Table) error {
	return otlpprofiles.WriteJSON(c.out, t, c.otlpOptions())
}
