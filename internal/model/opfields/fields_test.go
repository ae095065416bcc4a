package opfields

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
)

// keysOf returns the keys of a JSON object in order.
func keysOf(t *testing.T, object []byte) (keys []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	check.Must(d.Token())(t)
	for d.More() {
		key := check.Must(d.Token())(t)
		keys = append(keys, key.(string))
		var v json.RawMessage
		check.OK(t, d.Decode(&v))
	}
	return keys
}

func namesOf[T any](fields []Field[T]) (names []string) {
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

func TestAppendJSONWritesTheTablesInOrder(t *testing.T) {
	line := optest.RichEntry().AppendJSON(nil)
	check.Equal(t, "keys of an entry", namesOf(Entry), keysOf(t, line))
	_, collective, _ := bytes.Cut(line, []byte(`"collective":`))
	check.Equal(t, "keys of a collective", namesOf(Collective), keysOf(t, collective))
}
