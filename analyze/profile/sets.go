package profile

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/op"
)

// kindSet is a set of kinds, with a bit for each. In JSON it is a list of their names.
type kindSet uint8

// MarshalJSON returns the names.
func (s kindSet) MarshalJSON() ([]byte, error) {
	return marshalSet(uint8(s), func(i int) string { return op.Kind(i).String() })
}

// UnmarshalJSON reads the names.
func (s *kindSet) UnmarshalJSON(text []byte) error {
	set, err := unmarshalSet(text, "kind", func(name string) (int, bool) {
		k, ok := op.ParseKind(name)
		return int(k), ok || name == ""
	})
	*s = kindSet(set)
	return err
}

// mixSet is a set of properties that differ, with a bit for each. In JSON it is a list of their names.
type mixSet uint8

const (
	mixesInputs mixSet = 1 << iota
	mixesOutput
	mixesDType
	mixesDTypes
)

var mixNames = []string{"input_shapes", "output_shape", "dtype", "input_dtypes"}

// MarshalJSON returns the names.
func (s mixSet) MarshalJSON() ([]byte, error) {
	return marshalSet(uint8(s), func(i int) string { return mixNames[i] })
}

// UnmarshalJSON reads the names.
func (s *mixSet) UnmarshalJSON(text []byte) error {
	set, err := unmarshalSet(text, "mixes", func(name string) (int, bool) {
		i := slices.Index(mixNames, name)
		return i, i >= 0
	})
	*s = mixSet(set)
	return err
}

func marshalSet(set uint8, name func(bit int) string) ([]byte, error) {
	var names []string
	for ; set != 0; set &= set - 1 {
		names = append(names, name(bits.TrailingZeros8(set)))
	}
	return json.Marshal(names)
}

func unmarshalSet(text []byte, what string, find func(name string) (bit int, ok bool)) (set uint8, err error) {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return 0, err
	}
	for _, name := range names {
		bit, ok := find(name)
		if !ok {
			return 0, fmt.Errorf("%s %.100q: %w", what, name, ErrText)
		}
		set |= 1 << bit
	}
	return set, nil
}
