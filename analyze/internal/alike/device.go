package alike

import (
	"strings"
	"unicode"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
)

// IsDevice reports whether most of the work of a device is of operations, beside numbers in their names, that other
// devices have, too. A device with another model works as long as this needs.
func IsDevice(f *trace.Forest, k device.Key) bool {
	own := make(map[string]int64)
	shared := make(map[string]bool)
	families := make(map[int32]string)
	for key, rows := range f.Devices.All() {
		for _, r := range rows {
			family, known := families[f.Name(r)]
			if !known {
				family = strings.Map(func(c rune) rune {
					if unicode.IsDigit(c) {
						return -1
					}
					return c
				}, f.RowName(r))
				families[f.Name(r)] = family
			}
			if key == k {
				own[family] += f.Duration(r)
			} else {
				shared[family] = true
			}
		}
	}
	var all, like int64
	for family, ns := range own {
		all += ns
		if shared[family] {
			like += ns
		}
	}
	return 2*like >= all
}
