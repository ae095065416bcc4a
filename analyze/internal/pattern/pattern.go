// Package pattern matches device ids.
package pattern

import "strings"

// Matches reports whether id matches pattern; * stands for any text.
func Matches(pattern, id string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(id, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}
