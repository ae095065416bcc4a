package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

const commentWidth = 120

const generatedGo = "// Code generated from docs/registry by contrib/conventions; DO NOT EDIT.\n\n"

// keyConstants returns the file with the constants of package attrkey.
func keyConstants(r *registry, _ []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generatedGo + "package attrkey\n")
	for _, g := range r.attributeGroups() {
		writeConstants(&b, g, func(a *attribute) (name, value string) {
			return a.Annotations.Key, fmt.Sprintf("%q", a.name())
		})
	}
	return format.Source(b.Bytes())
}

// tensorconvConstants returns the file with the constants of package tensorconv.
func tensorconvConstants(r *registry, _ []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generatedGo + `package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/attrkey"
)
`)
	for _, g := range r.attributeGroups() {
		writeConstants(&b, g, func(a *attribute) (name, value string) {
			return a.Annotations.Const, "attribute.Key(attrkey." + a.Annotations.Key + ")"
		})
	}
	return format.Source(b.Bytes())
}

// writeConstants writes the constants of a group, those whose name is not "".
func writeConstants(b *bytes.Buffer, g *group, constant func(*attribute) (name, value string)) {
	open := false
	for _, a := range g.Attributes {
		name, value := constant(a)
		if name == "" {
			continue
		}
		if !open {
			b.WriteString("\n")
			comment(b, "", g.Brief)
			b.WriteString("const (\n")
			open = true
		}
		comment(b, "\t", describe(name, a))
		fmt.Fprintf(b, "\t%s = %s\n", name, value)
	}
	if open {
		b.WriteString(")\n")
	}
}

func describe(name string, a *attribute) string {
	text := name + " is the " + strings.TrimPrefix(a.Brief, "The ")
	if values := a.values(); values != "" {
		text = strings.TrimSuffix(text, ".") + ": " + values + "."
	}
	if note := strings.TrimSpace(a.Note); note != "" {
		text += " " + note
	}
	return text
}

// values lists the members of an enumeration that is open to choice, "" for none.
func (a *attribute) values() string {
	if len(a.Type.members) < 2 {
		return ""
	}
	var names []string
	for _, m := range a.Type.members {
		names = append(names, m.Value)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func comment(b *bytes.Buffer, indent, text string) {
	line := indent + "//"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > commentWidth {
			b.WriteString(line + "\n")
			line = indent + "//"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
