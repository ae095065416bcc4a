package key

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// Filter selects operations by the values of keys. It is a flag.Value of KEY=VALUE and may be set several times.
// The zero value matches every operation.
type Filter struct {
	keys   []Key
	values []string
}

// Set adds KEY=VALUE, with VALUE as written by [Value.String]: "unknown" selects operations without a value. It returns
// an error for an unknown or repeated key.
func (f *Filter) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("%q is not of the form KEY=VALUE, such as device=gpu:0", s)
	}
	k, err := ParseOne(name)
	if err != nil {
		return err
	}
	if slices.Contains(f.keys, k) {
		return fmt.Errorf("%s is there twice", k)
	}
	f.keys = append(f.keys, k)
	f.values = append(f.values, value)
	return nil
}

// String returns the arguments of Set, separated by spaces.
func (f *Filter) String() string {
	parts := make([]string, len(f.keys))
	for i, k := range f.keys {
		parts[i] = k.String() + "=" + f.values[i]
	}
	return strings.Join(parts, " ")
}

// Keys returns the keys.
func (f *Filter) Keys() []Key { return f.keys }

// Values returns the values in the order of Keys.
func (f *Filter) Values() []string { return f.values }

// Match reports whether e has all values. It may be called concurrently.
func (f *Filter) Match(e *op.Entry) bool { return f.match(e, func(Key) bool { return true }) }

// MatchRequest is Match for a request other than an operation. It ignores keys other than attributes, service
// and trace. It may be called concurrently.
func (f *Filter) MatchRequest(e *op.Entry) bool {
	return f.match(e, func(k Key) bool { return k.field == byAttr || k.field == byService || k.field == byTrace })
}

func (f *Filter) match(e *op.Entry, counts func(Key) bool) bool {
	for i, v := range Of(f.keys, e) {
		if v.String() != f.values[i] && counts(f.keys[i]) {
			return false
		}
	}
	return true
}
