package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/op"
)

// maxOthers bounds the values of a key that are remembered, maxListed those that are listed.
const maxOthers, maxListed = 1000, 8

// whereFilter is the filter of -where. It remembers what values the operations have that it leaves out.
type whereFilter struct {
	key.Filter
	values []string // of the keys

	mu     sync.Mutex
	others []map[string]bool // by key
}

// Set adds KEY=VALUE.
func (f *whereFilter) Set(s string) error {
	err := f.Filter.Set(s)
	if err == nil {
		_, value, _ := strings.Cut(s, "=")
		f.values, f.others = append(f.values, value), append(f.others, make(map[string]bool))
	}
	return err
}

// match reports whether e passes. It may be called concurrently.
func (f *whereFilter) match(e *op.Entry) bool {
	if f.Match(e) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, v := range key.Of(f.Keys(), e) {
		if len(f.others[i]) < maxOthers {
			f.others[i][v.String()] = true
		}
	}
	return false
}

// missed says which values no operation has, and which there are, where the filter let none through; "" if all are there.
func (f *whereFilter) missed() string {
	var parts []string
	for i, seen := range f.others {
		value := f.values[i]
		if len(seen) == 0 || seen[value] {
			continue
		}
		values, more := slices.Sorted(maps.Keys(seen)), ""
		if len(values) > maxListed {
			more = ", …"
		}
		parts = append(parts, fmt.Sprintf("no operation has %s=%s%s; there are %s%s", f.Keys()[i], value, exit.Guess(value, values),
			strings.Join(values[:min(len(values), maxListed)], ", "), more))
	}
	return termtext.Escape(strings.Join(parts, "; "))
}
