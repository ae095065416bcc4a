package stacks

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/optrace/optrace/analyze/internal/wide"
)

// WriteCollapsed writes the self times as collapsed stacks, see the function [WriteCollapsed].
func (t *Table) WriteCollapsed(w io.Writer) error {
	weights := make(map[string]int64)
	for sum, other := range t.levels[byStack].All() {
		frames := []string{Other}
		if !other {
			frames = framesOf(sum.key[sum.own:])
		}
		stack := Collapse(frames...)
		weights[stack] = wide.AddSaturating(weights[stack], sum.all.SelfNS)
	}
	return WriteCollapsed(w, weights)
}

// WriteCollapsed writes a sorted line per stack with positive weight: the result of [Collapse], a space, the weight.
func WriteCollapsed(w io.Writer, weights map[string]int64) error {
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(weights)) {
		if weights[stack] <= 0 {
			continue
		}
		out.WriteString(stack)
		out.WriteByte(' ')
		out.Write(strconv.AppendInt(out.AvailableBuffer(), weights[stack], 10))
		if out.WriteByte('\n') != nil {
			break // Flush returns the error
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing collapsed stacks: %w", err)
	}
	return nil
}

// Collapse joins frames, from the root down, with semicolons. A semicolon in a name becomes a colon, see also [Clean].
func Collapse(frames ...string) string {
	var b strings.Builder
	for i, frame := range frames {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(strings.ReplaceAll(Clean(frame), ";", ":"))
	}
	return b.String()
}

// Clean makes a name safe for lines of UTF-8 and for terminals: control characters and separators of lines and
// paragraphs become spaces, invalid bytes U+FFFD.
func Clean(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, name)
}

// Name returns the name of a frame for formats without empty names.
func Name(frame string) string { return cmp.Or(Clean(frame), "(unnamed)") }
