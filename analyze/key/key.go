package key

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// Key is a property of entries to group them by.
type Key struct {
	field keyField
	attr  string
}

type keyField uint8

const (
	byOperation keyField = iota
	byKind
	byDevice
	byRank
	byStream
	byShape
	byStep
	byRoot
	byService
	byTrace
	byPath
	byModule
	byOperator
	byPhase
	byError
	byAttr
)

// properties describes each key.
var properties = [...]struct {
	name   string
	form   form
	text   func(e *op.Entry) string // of formText
	number func(e *op.Entry) op.Int // of formInt
}{
	byOperation: {name: "operation", form: formText, text: func(e *op.Entry) string { return e.Operation }},
	byKind:      {name: "kind", form: formKind},
	byDevice:    {name: "device", form: formOptional},
	byRank:      {name: "rank", form: formInt, number: func(e *op.Entry) op.Int { return e.Rank }},
	byStream:    {name: "stream", form: formInt, number: func(e *op.Entry) op.Int { return e.Stream }},
	byShape:     {name: "shape", form: formShape},
	byStep:      {name: "step", form: formInt, number: func(e *op.Entry) op.Int { return e.Step }},
	byRoot:      {name: "root", form: formText, text: func(e *op.Entry) string { return e.Root }},
	byService:   {name: "service", form: formText, text: func(e *op.Entry) string { return e.Service }},
	byTrace:     {name: "trace", form: formTrace},
	byPath:      {name: "path", form: formText, text: func(e *op.Entry) string { return e.Path }},
	byModule:    {name: "module", form: formText, text: func(e *op.Entry) string { return moduleOf(e.Path) }},
	byOperator:  {name: "operator", form: formText, text: operatorOf},
	byPhase:     {name: "phase", form: formText, text: func(e *op.Entry) string { return e.Phase }},
	byError:     {name: "error", form: formOptional},
	byAttr:      {form: formOptional},
}

// Keys used by other packages.
var (
	Rank   = Key{field: byRank}
	Stream = Key{field: byStream}
	Step   = Key{field: byStep}
	Root   = Key{field: byRoot}
	Trace  = Key{field: byTrace}
	Path   = Key{field: byPath}
	Module = Key{field: byModule}

	// Operator is the host operator that launched an operation. A host operation is its own operator.
	Operator = Key{field: byOperator}
)

// modulePrefix precedes module names in paths of PyTorch's profiler.
const modulePrefix = "nn.Module: "

// moduleOf returns the innermost module of a path, or the path if it names no module.
func moduleOf(path string) string {
	if i := strings.LastIndex(path, modulePrefix); i >= 0 {
		name, _, _ := strings.Cut(path[i+len(modulePrefix):], op.PathSeparator)
		return name
	}
	return path
}

func operatorOf(e *op.Entry) string {
	if e.Side == op.SideHost {
		return e.Operation
	}
	return e.LaunchedBy
}

// NeedsTree reports whether k has values that follow from the tree of the run.
func (k Key) NeedsTree() bool { return k == Root || k == Operator }

const attrPrefix = "attr:"

// attributes lists attributes of requests with short names.
var attributes = []struct{ name, key string }{
	{"model", attrkey.RequestModel}, {"route", attrkey.RequestRoute}, {"tenant", attrkey.Tenant},
}

// Names returns the names of the keys except attr:NAME.
func Names() []string {
	var names []string
	for _, p := range properties[:byAttr] {
		names = append(names, p.name)
	}
	for _, a := range attributes {
		names = append(names, a.name)
	}
	return names
}

// Attr returns the key of an attribute, as "attr:NAME" does.
func Attr(name string) Key { return Key{field: byAttr, attr: name} }

// ParseOne returns the key named s: one of [Names], "request" for root, or attr:NAME. The prefix may be omitted if NAME
// contains a dot. model, route and tenant name the attributes gen_ai.request.model, http.route and tenant.id.
func ParseOne(s string) (Key, error) {
	if attr, ok := strings.CutPrefix(s, attrPrefix); ok && attr != "" {
		return Attr(attr), nil
	}
	name := s
	if s == "request" { // the word of the reports
		name = properties[byRoot].name
	}
	for f, p := range properties[:byAttr] {
		if name == p.name {
			return Key{field: keyField(f)}, nil
		}
	}
	for _, a := range attributes {
		if s == a.name {
			return Attr(a.key), nil
		}
	}
	if strings.Contains(s, ".") && !strings.Contains(s, ":") { // the name of an attribute
		return Attr(s), nil
	}
	return Key{}, fmt.Errorf("parsing key: %q is not one of %s, attr:NAME", s, strings.Join(Names(), ", "))
}

// Parse returns the keys in the comma-separated list s, no keys for "". It returns an error for unknown and repeated
// keys.
func Parse(s string) ([]Key, error) {
	if s == "" {
		return nil, nil
	}
	var keys []Key
	for part := range strings.SplitSeq(s, ",") {
		k, err := ParseOne(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, k) {
			return nil, fmt.Errorf("parsing keys: repeated key %s", k)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// Attr returns the attribute read by k, or "" for other keys. Readers must keep that attribute, see
// [attr.Mapping.Keep].
func (k Key) Attr() string { return k.attr }

// String returns the key as parsed by ParseOne.
func (k Key) String() string {
	if k.field == byAttr {
		return attrPrefix + k.attr
	}
	return properties[k.field].name
}

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
		return fmt.Errorf("repeated key %s", k)
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
