package flags

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/op/attr"
)

// Sums are the flags for the sums of a report.
type Sums struct {
	by      string
	top     int
	hotspot int64
	peaks   string
}

// SumsNames are the names of the flags.
var SumsNames = [...]string{"by", "top", "hotspot-bytes", "peaks"}

// Define defines the flags.
func (f *Sums) Define(fs *flag.FlagSet) {
	fs.StringVar(&f.by, "by", "", "")
	fs.IntVar(&f.top, "top", profile.DefaultTop, "")
	fs.Int64Var(&f.hotspot, "hotspot-bytes", profile.DefaultHotspotBytes, "")
	fs.StringVar(&f.peaks, "peaks", "", "")
}

// Keys returns the keys listed by -by.
func Keys(by string) ([]key.Key, error) {
	keys, err := key.Parse(by)
	if err == nil {
		return keys, nil
	}
	for name := range strings.SplitSeq(by, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, exit.Usagef("-by %q: a key is missing; write KEY or KEY,KEY", by)
		}
		if err := checkKey(name); err != nil {
			return nil, exit.Usagef("-by: %w", err)
		}
	}
	return nil, exit.Usagef("-by: %w", err)
}

func checkKey(name string) error {
	if _, err := key.ParseOne(name); err != nil {
		return exit.Unknown("key", name, append(key.Names(), "request", "attr:NAME"))
	}
	return nil
}

// Where defines the flag that adds to a filter.
func Where(fs *flag.FlagSet, filter *key.Filter) {
	fs.Func("where", "", func(text string) error {
		if name, _, ok := strings.Cut(text, "="); ok {
			if err := checkKey(name); err != nil {
				return err
			}
		}
		return filter.Set(text)
	})
}

// Options returns the options of the analyses, or an error for invalid flags.
func (f *Sums) Options() (analyze.Options, error) {
	keys, err := Keys(f.by)
	switch {
	case err != nil:
		return analyze.Options{}, err
	case f.top < 0:
		return analyze.Options{}, exit.Usagef("-top is negative")
	case f.hotspot < 0:
		return analyze.Options{}, exit.Usagef("-hotspot-bytes is negative")
	}
	table, err := ReadPeaks(f.peaks)
	if err != nil {
		return analyze.Options{}, err
	}
	return analyze.Options{
		Peaks: table, By: keys,
		// 0 lists no entry and makes every entry with memory a hotspot.
		Top: orNegative(f.top), HotspotBytes: orNegative(f.hotspot),
	}, nil
}

// orNegative returns n, -1 for 0, because 0 means the default in options.
func orNegative[N int | int64](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

// MappingFor returns a mapping that keeps the attributes of keys.
func MappingFor(keys []key.Key) *attr.Mapping {
	var m attr.Mapping
	for _, k := range keys {
		if k.Attr() != "" {
			m.Keep(k.Attr())
		}
	}
	return &m
}

// PeaksUsage lists the devices with known peaks, for help texts.
func PeaksUsage() string {
	const indent = "                    "
	lines := termtext.Wrap(strings.Join(peaks.Names(), ", "), 79-len(indent), 79-len(indent))
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}

// ReadPeaks returns the peaks of a known device or in a file, nil for "".
func ReadPeaks(name string) (*peaks.Table, error) {
	if name == "" {
		return nil, nil
	}
	if table, ok := peaks.Of(name); ok {
		return table, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("-peaks: no file has this name: %w", exit.Unknown("device", name, peaks.Names()))
	} else if err != nil {
		return nil, exit.Usagef("-peaks: %w", err)
	}
	table, err := peaks.Parse(text)
	if err != nil {
		return nil, exit.Usagef("-peaks: %s: %w", name, err)
	}
	return table, nil
}
