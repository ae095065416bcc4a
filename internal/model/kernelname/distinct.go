package kernelname

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/termtext"
)

// Fit fits a name into a width. It takes the short form of a kernel's name. Longer ones lose their middle, or the
// beginning of the kernel's name if template arguments tell kernels apart.
func Fit(name string, width int) string {
	if termtext.Width(name) <= width {
		return name
	}
	short := Short(name)
	if i := strings.IndexByte(short, '<'); i > 0 && short != name && termtext.Width(short) > width {
		if room := width - termtext.Width(short[i:]); 3*room >= width {
			return termtext.Truncate(short[:i], room) + short[i:]
		}
	}
	return termtext.Shorten(short, width)
}

// Distinct shortens names by short, such as [Fit]; different names stay different. Names with equal short forms have at
// most width columns and show the first difference, because the ends of kernel names and shapes matter as much as the
// beginnings. If they are still equal, they are numbered.
func Distinct(names []string, width int, short func(string, int) string) []string {
	forms := make(map[string]string, len(names)) // by name
	var different []string
	for _, name := range names {
		if _, ok := forms[name]; !ok {
			forms[name] = short(name, width)
			different = append(different, name)
		}
	}
	for _, same := range alike(different, forms) {
		showDifferences(same, width, forms)
	}
	uses := make(map[string]int) // by short form
	for _, name := range different {
		uses[forms[name]]++
		for n := uses[forms[name]]; n > 1; n++ {
			mark := fmt.Sprintf("…#%d", n)
			if marked := termtext.Head(name, width-termtext.Width(mark)) + mark; uses[marked] == 0 {
				forms[name] = marked
				uses[marked] = 1
				break
			}
		}
	}
	cut := make([]string, len(names))
	for i, name := range names {
		cut[i] = forms[name]
	}
	return cut
}

// Shorts returns the short forms of names. Names of equal short forms stay long.
func Shorts(names []string) []string {
	return Distinct(names, math.MaxInt32, func(name string, _ int) string { return Short(name) })
}

func alike(names []string, short map[string]string) map[string][]string {
	lists := make(map[string][]string)
	for _, name := range names {
		lists[short[name]] = append(lists[short[name]], name)
	}
	return lists
}

// showDifferences sets short forms with the first difference for names with equal short forms, again for each group
// with fewer equal ones.
func showDifferences(same []string, width int, short map[string]string) {
	if len(same) < 2 {
		return
	}
	texts := make([]string, len(same))
	for i, name := range same {
		texts[i] = Long(name)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(texts)))) < len(same) {
		texts = same
	}
	differs := commonPrefix(texts)
	for i, name := range same {
		short[name] = showDifference(texts[i], differs, width)
	}
	for _, still := range alike(same, short) {
		if len(still) < len(same) {
			showDifferences(still, width, short)
		}
	}
}

// commonPrefix returns the length of the common prefix of names, in bytes, cut at a whole character.
func commonPrefix(names []string) (n int) {
	first, last := slices.Min(names), slices.Max(names)
	for n < len(first) && first[n] == last[n] { // last has not ended, or it would come before first
		n++
	}
	for n > 0 && n < len(first) && !utf8.RuneStart(first[n]) {
		n--
	}
	return n
}

// showDifference returns the beginning and the end of name, and its middle from position differs.
func showDifference(name string, differs, width int) string {
	side := width / 4
	room := width - 2 - 2*side
	if side < 1 || termtext.Width(name) <= width {
		return termtext.Shorten(name, width)
	}
	head := termtext.Head(name, side)
	if rest := name[max(differs, len(head)):]; termtext.Width(rest) > room+1+side {
		return head + "…" + termtext.Head(rest, room) + "…" + termtext.Tail(name, side)
	}
	return head + "…" + termtext.Tail(name, width-side-1)
}
