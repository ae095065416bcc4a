package ingest

import (
	"bytes"
	"slices"

	"github.com/optrace/optrace/ingest/otlp"
)

// matchDamaged returns the format of a file whose beginning is damaged, nil where the file is something else: it has
// frames behind the damage, or most of its lines are records.
func (h *head) matchDamaged() *Format {
	// something else
	if h.isErrorAnswer() || isUTF16(h.text) || bytes.HasPrefix(bytes.TrimLeft(h.text, " \t\r\n"), []byte("<")) {
		return nil
	}
	f := otlp.SniffDamaged(h.text)
	if i := slices.IndexFunc(formats, func(known Format) bool { return known.framing == f }); f != otlp.FramingNone {
		return &formats[i]
	}
	return matchLines(h.text)
}

// maxLines bounds the lines that are looked at, each of which is taken apart.
const maxLines = 1 << 10

// matchLines returns the format of the first line that is a record, where there are more lines of that format than
// others that are not even remains of a record.
func matchLines(text []byte) *Format {
	var found *Format
	var records, others, n int
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		// Zeros stand in front where pages of a file were never written.
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
		// not even a part of a JSON object
		case !bytes.HasPrefix(line, []byte(`{"`)) && !bytes.Contains(line, []byte(`":`)):
			others++
		}
	}
	if records <= others {
		return nil
	}
	return found
}
