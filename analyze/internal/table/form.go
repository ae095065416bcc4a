package table

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// Other is the state of a full table beside its rows. It marks the encoded row of the keys beyond the limit.
type Other struct {
	// Beyond is the smallest key without a row.
	Beyond []byte `json:"beyond"`
	// Hashes has the hashes of keys beyond the limit, ascending, eight bytes each, big-endian: the smallest ones if
	// Estimated is set.
	Hashes    []byte `json:"hashes"`
	Estimated bool   `json:"estimated,omitempty"`
}

// Each calls f with each row in key order, and at last with the row beyond the limit, if any.
func (t *Table[R]) Each(f func(key string, row *R, other *Other)) {
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		f(key, &t.rows[key].Value, nil)
	}
	if !t.full {
		return
	}
	other := &Other{Beyond: []byte(t.beyond.key), Estimated: t.overflowed.overflow}
	for _, h := range slices.Sorted(maps.Keys(t.overflowed.kept)) {
		other.Hashes = binary.BigEndian.AppendUint64(other.Hashes, h)
	}
	f("", &t.other.Value, other)
}

// Put restores a row from Each. It returns an error for a row that the table cannot have had.
func (t *Table[R]) Put(key []byte, value R, other *Other) error {
	if other == nil {
		before := len(t.rows)
		row, isNew := t.Row(key)
		if !isNew || len(t.rows) == before {
			return errors.New("repeated row, or more rows than the limit")
		}
		row.Value = value
		return nil
	}
	if len(other.Hashes)%8 != 0 {
		return errors.New("the length of the hashes is not a multiple of eight")
	}
	beyond := place{string(other.Beyond), t.hash(other.Beyond)}
	n := len(other.Hashes) / 8
	if t.full || t.reaches(beyond) || n == 0 || n > maxDistinct || other.Estimated && n < maxDistinct {
		return errors.New("inconsistent row beyond the limit")
	}
	for h := range slices.Chunk(other.Hashes, 8) {
		t.overflowed.addSpread(binary.BigEndian.Uint64(h))
	}
	t.overflowed.overflow = other.Estimated
	t.other.Value = value
	t.beyond = beyond
	t.full = true
	return nil
}
