// Package natural orders names for people: numbers in them by value, cuda:2 before cuda:10.
package natural

import (
	"cmp"
	"strings"
)

// Compare returns a negative number if a comes before b, 0 if they are equal, and a positive number otherwise. Digits
// compare by value. If the names are then equal, such as "1" and "01", their bytes decide.
func Compare(a, b string) int {
	x := a
	y := b
	for x != "" && y != "" {
		m := digits(x)
		n := digits(y)
		order := 0
		if m > 0 && n > 0 {
			order = compareNumbers(x[:m], y[:n])
		} else {
			order = cmp.Compare(x[0], y[0])
			m = 1
			n = 1
		}
		if order != 0 {
			return order
		}
		x = x[m:]
		y = y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

func compareNumbers(a, b string) int {
	a = strings.TrimLeft(a, "0")
	b = strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
