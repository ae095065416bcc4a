package table

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Other marks the form of the row of the keys beyond the limit, see [Rest].
type Other struct {
	Beyond    []byte `json:"beyond"`
	Hashes    []byte `json:"hashes"` // eight bytes each, big-endian
	Estimated bool   `json:"estimated,omitempty"`
}

// Each calls f with the key of each row, by key, and at last with the row of the keys beyond
// the limit, if there is one.
func (t *Table[R]) Each(f func(key string, row *R, other *Other)) {
	for key, row := range t.Rows() {
		f(key, row, nil)
	}
	rest, ok := t.Rest()
	if !ok {
		return
	}
	other := &Other{Beyond: []byte(rest.Beyond), Estimated: rest.Estimated}
	for _, h := range rest.Hashes {
		other.Hashes = binary.BigEndian.AppendUint64(other.Hashes, h)
	}
	f("", &rest.Other, other)
}

// Put puts back what Each handed out. A row that the table cannot have had is an error.
func (t *Table[R]) Put(key []byte, value R, other *Other) error {
	if other == nil {
		row, isNew := t.Row(key)
		if !isNew || t.Evictions() > 0 {
			return errors.New("a row is there twice, or there are more rows than the table may have")
		}
		row.Value = value
		return nil
	}
	if len(other.Hashes)%8 != 0 {
		return errors.New("hashes are not of eight bytes each")
	}
	rest := Rest[R]{Other: value, Beyond: string(other.Beyond), Estimated: other.Estimated}
	for h := range slices.Chunk(other.Hashes, 8) {
		rest.Hashes = append(rest.Hashes, binary.BigEndian.Uint64(h))
	}
	return t.SetRest(rest)
}
