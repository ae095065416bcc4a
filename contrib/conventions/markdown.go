package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// The marks around the generated parts of a page.
const (
	beginMark = "<!-- generated from docs/registry: go generate ./tensorconv -->\n"
	endMark   = "<!-- end of what is generated -->\n"
)

// between replaces the generated part of a page, of which there is one.
func between(old []byte, part string) ([]byte, error) {
	before, rest, ok := bytes.Cut(old, []byte(beginMark))
	if !ok {
		return nil, fmt.Errorf("no line %q", strings.TrimSpace(beginMark))
	}
	_, after, ok := bytes.Cut(rest, []byte(endMark))
	if !ok || bytes.Contains(after, []byte(beginMark)) {
		return nil, fmt.Errorf("not one line %q behind the first mark", strings.TrimSpace(endMark))
	}
	return bytes.Join([][]byte{before, []byte(beginMark), []byte(part), []byte(endMark), after}, nil), nil
}

func conventions(r *registry, old []byte) ([]byte, error) {
	var b strings.Builder
	for _, g := range r.spans {
		fmt.Fprintf(&b, "\n### Span `%s`\n\n%s %s\n\n| attribute | requirement |\n|---|---|\n", g.ID, g.Brief, strings.TrimSpace(g.Note))
		for _, a := range g.Attributes {
			fmt.Fprintf(&b, "| `%s` | %s |\n", a.Ref, a.Requirement)
		}
	}
	for _, g := range r.groups {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| attribute | type | what | example | in entries |\n|---|---|---|---|---|\n", g.DisplayName, g.Brief)
		for _, a := range g.Attributes {
			entry := ""
			if a.Annotations.Entry != "" {
				entry = "`" + a.Annotations.Entry + "`"
			}
			typ := cmp.Or(a.Annotations.Type, a.Type.name)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", a.name(), typ, a.describe(), a.example(), entry)
		}
	}
	b.WriteString("\n")
	return between(old, b.String())
}

func (a *attribute) example() string {
	if len(a.Examples) == 0 {
		return ""
	}
	if text, ok := a.Examples[0].(string); ok {
		return "`" + text + "`"
	}
	text, _ := json.Marshal(a.Examples[0]) // of YAML's numbers and lists
	return "`" + string(text) + "`"
}
