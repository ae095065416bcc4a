package entries

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/internal/model/unmarshal"
	"github.com/optrace/optrace/op"
)

func init() { unmarshal.Entry = readEntry }

func readEntry(e any, text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	rec, err := NewReader(&line, "").Next()
	switch {
	case err != nil:
		return fmt.Errorf("reading entry: %w", err)
	case rec.Entry == nil:
		return fmt.Errorf("%.100q is not an entry", text)
	}
	*e.(*op.Entry) = *rec.Entry.Clone()
	return nil
}
