// Package help lists the keys of the reports in JSON, for the help texts.
package help

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

// Output is the JSON output of a command.
type Output struct {
	Command, Schema string
	Report          reflect.Type
}

// Outputs lists the JSON outputs.
func Outputs() []Output {
	return []Output{
		{"report -json", analyze.Schema, reflect.TypeFor[analyze.Report]()},
		{"correlate -json", correlate.Schema, reflect.TypeFor[correlate.Report]()},
		{"diff -json", diff.Schema, reflect.TypeFor[diff.Report]()},
		{"doctor -json", doctor.Schema, reflect.TypeFor[doctor.Report]()},
		{"whatif -json", "optrace.whatif/v1", reflect.TypeFor[analyze.WhatIf]()},
	}
}

// JSON lists the keys of the reports, from their types.
func JSON() string {
	var b strings.Builder
	b.WriteString(`The keys of the JSON printed by -json, as paths for jq. New versions add keys; they
never rename or remove one. Unknown values are null, never 0. A question mark follows
lists and objects that may be absent or null, if their part of the report was not
computed. Keys with suffix _ns are nanoseconds, _us microseconds, _bytes bytes; shares
and ratios are parts of 1. An entry is an operation, as in a line of the entries format
(` + op.Schema + `); docs/formats.md lists its keys. [] stands for any element of a
list, [KEY] for any key.
`)
	for _, out := range Outputs() {
		fmt.Fprintf(&b, "\noptrace %s, schema %s:\n\n", out.Command, out.Schema)
		for _, k := range Keys(out.Report) {
			fmt.Fprintf(&b, "  %-52s %s\n", k.Path, k.About)
		}
	}
	return b.String()
}

// Keys returns the keys that encoding/json writes for a struct type, each with its path and the type of its value. The
// keys of a repeated type are listed once.
func Keys(t reflect.Type) []Key {
	l := keyList{at: make(map[reflect.Type]string)}
	l.object("", t)
	return l.keys
}

// Key is a key, as a path, and the type of its value.
type Key struct{ Path, About string }

type keyList struct {
	keys []Key
	at   map[reflect.Type]string // where the keys of a type are listed
}

// object adds the keys of a struct except hidden ones. It includes the keys of embedded structs unless the struct has
// equal keys of its own.
func (l *keyList) object(path string, t reflect.Type, hidden ...string) {
	within := slices.Clone(hidden)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		within = append(within, name)
	}
	for f := range t.Fields() {
		switch name, options, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Anonymous && name == "":
			l.object(path, f.Type, within...)
		case f.IsExported() && name != "-" && (name == "" || !slices.Contains(hidden, name)):
			l.key(path+"."+cmp.Or(name, f.Name), f.Type, strings.Contains(options, "omit"))
		}
	}
}

// key adds a key and, for an object or a list of objects, the keys below.
func (l *keyList) key(path string, t reflect.Type, optional bool) {
	for describeJSON(t) == "" && t.Kind() != reflect.Struct {
		switch t.Kind() {
		case reflect.Slice:
			path += "[]"
		case reflect.Map:
			path += "[KEY]"
		default:
			optional = optional || !strings.HasSuffix(path, "]")
		}
		t = t.Elem()
	}
	about := describeJSON(t)
	isObject := false
	if about == "" {
		about = "object"
		isObject = true
	}
	mark := ""
	if optional {
		mark = "?"
	}
	if at, listed := l.at[t]; isObject && listed {
		l.keys = append(l.keys, Key{path, about + mark + AsKeys + at})
		return
	}
	l.keys = append(l.keys, Key{path, about + mark})
	if isObject {
		l.at[t] = path
		l.object(path, t)
	}
}

// AsKeys precedes the path with the keys of an object.
const AsKeys = " with the keys of "

// marshalled describes the types with their own JSON encoding.
var marshalled = map[reflect.Type]string{
	reflect.TypeFor[op.Int]():              "integer or null",
	reflect.TypeFor[op.Float]():            "number or null",
	reflect.TypeFor[op.Entry]():            "entry",
	reflect.TypeFor[key.Value]():           "string, integer or null",
	reflect.TypeFor[key.Group]():           "object, a key for each of -by",
	reflect.TypeFor[seed.DeviceDuration](): "array of a device and a duration",
	reflect.TypeFor[correlate.Link]():      "string or null",
}

// describeJSON describes the JSON of a type, "" for an object, list or map with listed parts.
func describeJSON(t reflect.Type) string {
	if text, ok := marshalled[t]; ok {
		return text
	}
	if t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
		return "string"
	}
	if t.Kind() != reflect.Pointer && t != reflect.TypeFor[findings.Finding]() && // whose JSON has its fields
		t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return "value"
	}
	switch t.Kind() {
	case reflect.Interface:
		return "any value"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64, reflect.Float32:
		return "number"
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return "integer"
	}
	return ""
}
