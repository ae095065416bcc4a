package profile

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/op"
)

// set is a set of kinds or of differing properties, one bit each. Its JSON form is a list of names.
type set uint16

const (
	mixesInputs set = 1 << (iota + op.KindControl + 1) // after the kinds
	mixesOutput
	mixesDType
	mixesDTypes
)

var setNames = []string{
	"", op.KindCompute.String(), op.KindCollective.String(), op.KindMemory.String(), op.KindIO.String(),
	op.KindControl.String(),
	"input_shapes", "output_shape", "dtype", "input_dtypes",
}

// MarshalJSON returns the names.
func (s set) MarshalJSON() ([]byte, error) {
	var names []string
	for ; s != 0; s &= s - 1 {
		names = append(names, setNames[bits.TrailingZeros16(uint16(s))])
	}
	return json.Marshal(names)
}

// UnmarshalJSON reads the names.
func (s *set) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*s = 0
	for _, name := range names {
		bit := slices.Index(setNames, name)
		if bit < 0 {
			return fmt.Errorf("kind or property %.100q: %w", name, ErrText)
		}
		*s |= 1 << bit
	}
	return nil
}
