package text

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/termtext"
)

// continuation begins the further lines of a label.
const continuation = "  "

// labels returns a label of one or more lines for each key, which is one or more
// names. Long names lose their middle, because the ends of kernels' names and of
// shapes say as much as the beginnings; keys that would look the same are
// written out.
func labels(keys [][]string) []string {
	list := make([]string, len(keys))
	first := make(map[string]int) // by label
	same := make(map[string]bool)
	for i, key := range keys {
		list[i] = label(key, shortened)
		if other, ok := first[list[i]]; !ok {
			first[list[i]] = i
		} else if !slices.Equal(keys[other], key) {
			same[list[i]] = true
		}
	}
	for i, key := range keys {
		if same[list[i]] {
			list[i] = label(key, writtenOut)
		}
	}
	return list
}

// label joins the names of a key to lines of at most maxCell columns. What makes
// a name fit returns it in one or more lines.
func label(key []string, fit func(name string, width int) []string) string {
	names := make([]string, len(key))
	for i, name := range key {
		names[i] = termtext.Clean(name)
	}
	if whole := strings.Join(names, ", "); termtext.Width(whole) <= maxCell {
		return whole
	}
	width := maxCell - len(continuation)
	var lines []string
	for i, name := range names {
		if i+1 < len(names) {
			name += ","
		}
		if last := len(lines) - 1; last >= 0 && termtext.Width(lines[last])+1+termtext.Width(name) <= width {
			lines[last] += " " + name
			continue
		}
		lines = append(lines, fit(name, width)...)
	}
	return strings.Join(lines, "\n"+continuation)
}

func shortened(name string, width int) []string { return []string{termtext.Shorten(name, width)} }

func writtenOut(name string, width int) []string { return termtext.Split(name, width) }
