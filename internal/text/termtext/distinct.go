package termtext

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Distinct shortens names by short; different names stay different. Names with equal short forms have at most width
// columns and show the first difference of their long forms, because the ends of kernel names and shapes matter as much
// as the beginnings. If they are still equal, they are numbered.
func Distinct(names []string, width int, short, long func(string) string) []string {
	forms := make(map[string]string, len(names)) // by name
	var different []string
	for _, name := range names {
		if _, ok := forms[name]; !ok {
			forms[name] = short(name)
			different = append(different, name)
		}
	}
	for _, same := range alike(different, forms) {
		showDifferences(same, width, forms, long)
	}
	uses := make(map[string]int) // by short form
	for _, name := range different {
		uses[forms[name]]++
		for n := uses[forms[name]]; n > 1; n++ {
			mark := fmt.Sprintf("…#%d", n)
			if marked := Head(name, width-Width(mark)) + mark; uses[marked] == 0 {
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

func alike(names []string, short map[string]string) map[string][]string {
	lists := make(map[string][]string)
	for _, name := range names {
		lists[short[name]] = append(lists[short[name]], name)
	}
	return lists
}

// showDifferences sets short forms with the first difference for names with equal short forms, again for each group
// with fewer equal ones.
func showDifferences(same []string, width int, short map[string]string, long func(string) string) {
	if len(same) < 2 {
		return
	}
	texts := make([]string, len(same))
	for i, name := range same {
		texts[i] = long(name)
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
			showDifferences(still, width, short, long)
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
	if side < 1 || Width(name) <= width {
		return Shorten(name, width)
	}
	head := Head(name, side)
	if rest := name[max(differs, len(head)):]; Width(rest) > room+1+side {
		return head + "…" + Head(rest, room) + "…" + Tail(name, side)
	}
	return head + "…" + Tail(name, width-side-1)
}
