package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

// jsonOutput is the JSON that a command prints.
type jsonOutput struct {
	command, schema string
	report          reflect.Type
}

// jsonOutputs lists what is printed with -json.
func jsonOutputs() []jsonOutput {
	return []jsonOutput{
		{"report -json", analyze.Schema, reflect.TypeFor[analyze.Report]()},
		{"correlate -json", correlate.Schema, reflect.TypeFor[correlate.Report]()},
		{"diff -json", diff.Schema, reflect.TypeFor[diff.Report]()},
	}
}

// jsonHelp lists the keys of the reports. The list is made of the types that are printed.
func jsonHelp() string {
	var b strings.Builder
	b.WriteString(`The keys of what commands print with -json, as jq takes them. Keys are added, and
never renamed or removed. What is not known is null, never 0; a list or an object
that may be absent or null, where the part of the report was not computed, is marked
with a question mark. Keys that end in _ns are nanoseconds, _us microseconds and _bytes
bytes; shares and ratios are parts of 1. An entry is an operation, as a line of the
entries format (` + op.Schema + `) has it: docs/formats.md lists its keys. [] stands
for any element of a list, [KEY] for any key.
`)
	for _, out := range jsonOutputs() {
		fmt.Fprintf(&b, "\noptrace %s, schema %s:\n\n", out.command, out.schema)
		for _, k := range jsonKeys(out.report) {
			fmt.Fprintf(&b, "  %-52s %s\n", k.text, k.about)
		}
	}
	return b.String()
}

// jsonKeys returns the keys that encoding/json writes for a struct type, each with its
// path and the type of its value.
func jsonKeys(t reflect.Type) []word {
	var keys []word
	appendKeys(&keys, "", t, nil)
	return keys
}

func appendKeys(keys *[]word, path string, t reflect.Type, above []reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			appendKeys(keys, path, f.Type, above)
		default:
			if name == "" {
				name = f.Name
			}
			appendKey(keys, path+"."+name, f.Type, strings.Contains(options, "omit"), append(above, t))
		}
	}
}

// appendKey adds a key and, where its value is an object or a list of objects, those
// below it. above are the types around it.
func appendKey(keys *[]word, path string, t reflect.Type, optional bool, above []reflect.Type) {
	for describeJSON(t) == "" && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
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
	if about == "" {
		about = "object"
	}
	if optional {
		about += "?"
	}
	*keys = append(*keys, word{path, about})
	if describeJSON(t) != "" {
		return
	}
	if !slices.Contains(above, t) { // else a type within itself
		appendKeys(keys, path, t, above)
	}
}

// marshalled describes the types that write their JSON themselves.
func marshalled() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[op.Int]():              "integer or null",
		reflect.TypeFor[op.Float]():            "number or null",
		reflect.TypeFor[op.Entry]():            "entry",
		reflect.TypeFor[analyze.KeyValue]():    "string, integer or null",
		reflect.TypeFor[analyze.GroupKey]():    "object, a key for each of -by",
		reflect.TypeFor[seed.DeviceDuration](): "array of a device and a duration",
		reflect.TypeFor[correlate.Link]():      "string or null",
	}
}

// describeJSON says what a value of the type looks like in JSON, "" for an object, list or
// map whose parts are looked at.
func describeJSON(t reflect.Type) string {
	if text, ok := marshalled()[t]; ok {
		return text
	}
	if t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
		return "string"
	}
	if t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return "value"
	}
	switch t.Kind() {
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
