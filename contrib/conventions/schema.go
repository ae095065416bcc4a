package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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

// property is the beginning of a property up to what is said of it, the description aside.
const property = `(?m)^( +"%s": \{ ?(?:\n +)?)(?:"description": "(?:[^"\\]|\\.)*", ?(?:\n +)?)?`

// describeProperty puts a description in front of what the schema says of a key, in the
// definition of a name.
func describeProperty(text []byte, name, key string, a *attribute) ([]byte, error) {
	start := bytes.Index(text, []byte("\n    \""+name+"\": {\n"))
	if start < 0 {
		return nil, fmt.Errorf("%s: no definition %s", a.name(), name)
	}
	start++
	end := bytes.Index(text[start:], []byte("\n    }"))
	if end < 0 {
		return nil, fmt.Errorf("the definition %s has no end", name)
	}
	definition := text[start : start+end]
	found := regexp.MustCompile(fmt.Sprintf(property, regexp.QuoteMeta(key))).FindSubmatchIndex(definition)
	if found == nil {
		return nil, fmt.Errorf("%s: the definition %s has no property %s", a.name(), name, key)
	}
	description, err := json.Marshal(a.Brief + " Attribute " + a.name() + ".")
	if err != nil {
		return nil, err
	}
	opening := string(definition[found[2]:found[3]])
	separator := " "
	if at := strings.IndexByte(opening, '\n'); at >= 0 {
		separator = opening[at:]
	}
	return bytes.Join([][]byte{
		text[:start], definition[:found[0]], []byte(opening + `"description": ` + string(description) + "," + separator),
		definition[found[1]:], text[start+end:],
	}, nil), nil
}
