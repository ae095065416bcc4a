package ingest

import (
	"bytes"
	"slices"

	"github.com/optrace/optrace/ingest/otlp"
)

// matchDamaged returns the format of a file with a damaged beginning: one with frames behind the damage, or one whose
// lines are mostly records. It returns nil for any other file.
func (h *head) matchDamaged() *Format {
	// Another kind of file.
	if h.isErrorAnswer() || isUTF16(h.text) || bytes.HasPrefix(bytes.TrimLeft(h.text, " \t\r\n"), []byte("<")) {
		return nil
	}
	f := otlp.SniffDamaged(h.text)
	if i := slices.IndexFunc(formats, func(known Format) bool { return known.framing == f }); f != otlp.FramingNone {
		return &formats[i]
	}
	return matchLines(h.text)
}

const maxLines = 1 << 10

// matchLines returns the format of the first record among the lines, if more lines have this format than are foreign.
func matchLines(text []byte) *Format {
	var found *Format
	var records, others, n int
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		// Pages of a file that were never written are zeros.
		if line = bytes.TrimSpace(bytes.TrimLeft(line, "\x00")); len(line) == 0 {
			continue
		}
		if n++; n > maxLines {
			break
		}
		var f *Format
		if line[0] == '{' {
			f = match(newHead(line, true))
		}
		switch {
		case f != nil && f.grows && (found == nil || f == found):
			found = f
			records++
		// No part of a JSON object.
		case !bytes.HasPrefix(line, []byte(`{"`)) && !bytes.Contains(line, []byte(`":`)):
			others++
		}
	}
	if records <= others {
		return nil
	}
	return found
}
