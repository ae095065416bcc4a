package exit

import (
	"fmt"
	"strings"
)

// Unknown returns the error of a typed name missing from names. It suggests the nearest one and lists all. The first
// argument is the kind of name, such as "section".
func Unknown(what, typed string, names []string) error {
	all := strings.Join(names, ", ")
	if guess := Guess(typed, names); guess != "" {
		return Usagef("unknown %s %q%s There are %s", what, typed, guess, all)
	}
	return Usagef("unknown %s %q; there are %s", what, typed, all)
}

const maxGuesses = 3

// Guess returns "; did you mean X?" with the name nearest to a mistyped one, or with several names containing it, or
// "".
func Guess(typed string, names []string) string {
	var within []string
	for _, name := range names {
		if len(typed) > 2 && strings.Contains(name, typed) {
			within = append(within, name)
		}
	}
	if len(within) > 1 && len(within) <= maxGuesses {
		return fmt.Sprintf("; did you mean %s?", strings.Join(within, " or "))
	}
	best := ""
	least := 0
	for _, name := range names {
		d := distance(typed, name)
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			d = min(d, 1)
		}
		if len(typed) > 2 {
			d = min(d, 1+distance(typed, name[:min(len(typed), len(name))])) // not typed to the end
			if strings.Contains(name, typed) {
				d = min(d, 1)
			}
		}
		same := 0
		for same < min(len(typed), len(name)) && typed[same] == name[same] {
			same++
		}
		if far := 100*d - same; d <= len(typed)/3+1 && (best == "" || far < least) {
			best = name
			least = far
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance returns the number of insertions, deletions, changes and swaps of neighbours between a and b.
func distance(a, b string) int {
	const far = 1 << 20
	if len(a) > 64 || len(b) > 64 {
		return far
	}
	var rows [65][65]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
				continue
			}
			rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(a)][len(b)]
}
