package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

// constants returns a function that returns a Go file with the constants whose names are not "", each described or not.
func constants(header string, described bool, constant func(*attribute) (name, value string)) func(*registry, []byte) ([]byte, error) {
	return func(r *registry, _ []byte) ([]byte, error) {
		var b bytes.Buffer
		b.WriteString("// Code generated from docs/registry by contrib/conventions; DO NOT EDIT.\n\n" + header)
		for _, g := range r.groups {
			var list bytes.Buffer
			for _, a := range g.Attributes {
				if name, value := constant(a); name != "" {
					if described {
						comment(&list, name+" is the "+strings.TrimPrefix(a.describe(), "The "))
					}
					fmt.Fprintf(&list, "\t%s = %s\n", name, value)
				}
			}
			if list.Len() > 0 {
				b.WriteString("\n")
				comment(&b, g.Brief)
				fmt.Fprintf(&b, "const (\n%s)\n", &list)
			}
		}
		return format.Source(b.Bytes())
	}
}

const commentWidth = 120

func comment(b *bytes.Buffer, text string) {
	const start = "\t//"
	line := start
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > commentWidth {
			b.WriteString(line + "\n")
			line = start
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
