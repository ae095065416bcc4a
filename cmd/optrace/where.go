package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/termtext"
)

// maxListed bounds the values of a key that are listed.
const maxListed = 8

// missed reads inputs of which no operation passes a filter once more. It says which values none has, and which there are; ""
// if all are there, or what is read is no file.
func missed(ctx context.Context, s streams.Streams, src input.Source, where key.Filter) string {
	for _, path := range src.Inputs {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return ""
		}
	}
	in, done := src.Open(s)
	defer done()
	r, err := analyze.Run(ctx, in, analyze.Options{By: where.Keys(), SumsOnly: true})
	if err != nil {
		return ""
	}
	var parts []string
	for i, value := range where.Values() {
		seen := make(map[string]bool)
		for _, g := range r.Groups {
			if !g.Key.Other {
				seen[g.Key.Values[i].String()] = true
			}
		}
		if len(seen) == 0 || seen[value] {
			continue
		}
		values, more := slices.Sorted(maps.Keys(seen)), ""
		if len(values) > maxListed {
			more = ", …"
		}
		parts = append(parts, fmt.Sprintf("no operation has %s=%s%s; there are %s%s", where.Keys()[i], value, exit.Guess(value, values),
			strings.Join(values[:min(len(values), maxListed)], ", "), more))
	}
	return termtext.Escape(strings.Join(parts, "; "))
}
