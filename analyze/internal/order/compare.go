package order

import (
	"cmp"

	"github.com/optrace/optrace/op"
)

// Flags orders false before true.
func Flags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Ints orders integers, an unknown one first.
func Ints(a, b op.Int) int { return cmp.Or(Flags(a.Known, b.Known), cmp.Compare(a.V, b.V)) }
