package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// schema returns the JSON Schema of entries with the descriptions of the attributes that
// fields come from. Everything else in it is written by hand: a property is a line, or
// begins one.
func schema(r *registry, old []byte) ([]byte, error) {
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			if a.Annotations.Entry == "" {
				continue
			}
			within, key, nested := strings.Cut(a.Annotations.Entry, ".")
			if !nested {
				within, key = "entry", within
			}
			var err error
			if old, err = describeProperty(old, within, key, a); err != nil {
				return nil, err
			}
		}
	}
	if !json.Valid(old) {
		return nil, errors.New("the result is no JSON")
	}
	return old, nil
}

// property is a definition up to one of its properties, the beginning of that, and its description. What a definition holds
// is indented further than the definition.
const property = `(?m)^    "%s": \{\n(?:      .*\n)*?( +"%s": \{ ?(?:\n +)?)(?:"description": "(?:[^"\\]|\\.)*", ?(?:\n +)?)?`

// describeProperty puts a description in front of what the schema says of a key, in the
// definition of a name.
func describeProperty(text []byte, name, key string, a *attribute) ([]byte, error) {
	found := regexp.MustCompile(fmt.Sprintf(property, name, key)).FindSubmatchIndex(text)
	if found == nil {
		return nil, fmt.Errorf("%s: there is no definition %s with a property %s", a.name(), name, key)
	}
	description, err := json.Marshal(a.Brief + " Attribute " + a.name() + ".")
	if err != nil {
		return nil, err
	}
	separator := " "
	if opening := string(text[found[2]:found[3]]); strings.Contains(opening, "\n") {
		separator = opening[strings.IndexByte(opening, '\n'):]
	}
	return slices.Concat(text[:found[3]], []byte(`"description": `+string(description)+","+separator), text[found[1]:]), nil
}
