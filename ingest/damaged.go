package ingest

import (
	"bytes"
	"slices"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/jsontext"
)

// sign is a member that files of a format have near their start: its name, and the byte
// that its value starts with, 0 for any.
type sign struct {
	key   string
	value byte
}

// signature tells the format of a file whose first record is damaged: it has all of these
// signs.
type signature struct {
	format string // its name
	// line is set where a line is a record, so that the signs stand in one.
	line  bool
	signs []sign
}

// signatures lists the signatures in the order in which they are tried.
var signatures = []signature{
	{"trace-json", false, []sign{{"entries", '['}, {"operation", '"'}, {"duration_us", 0}}},
	{"entries-jsonl", true, []sign{{"operation", '"'}, {"duration_us", 0}, {"device_id", 0}}},
	{"jaeger-v1", false, []sign{{"spanID", '"'}, {"operationName", '"'}}},
	{"jaeger-v1", false, []sign{{"spanID", '"'}, {"processID", '"'}}},
	{"jaeger-v3", false, []sign{{"result", '{'}, {"resourceSpans", '['}}},
	{"jaeger-v3", false, []sign{{"result", '{'}, {"scopeSpans", '['}}},
	{"otlp-json", false, []sign{{"resourceSpans", '['}, {"scopeSpans", '['}}},
	{"otlp-json", false, []sign{{"scopeSpans", '['}, {"spans", '['}}},
	{"otlp-json", false, []sign{{"resourceSpans", '['}, {"startTimeUnixNano", 0}}},
	{"otlp-json", false, []sign{{"spanId", '"'}, {"startTimeUnixNano", 0}, {"endTimeUnixNano", 0}}},
	{"otlp-json", false, []sign{{"resourceMetrics", '['}, {"scopeMetrics", '['}}},
	{"otlp-json", false, []sign{{"resourceLogs", '['}, {"scopeLogs", '['}}},
	{"stdouttrace", false, []sign{{"SpanContext", '{'}, {"SpanKind", 0}}},
	{"stdouttrace", false, []sign{{"SpanContext", '{'}, {"StartTime", '"'}}},
	{"chrome", false, []sign{{"traceEvents", '['}, {"ph", '"'}, {"ts", 0}}},
	{"chrome", false, []sign{{"ph", '"'}, {"ts", 0}, {"pid", 0}, {"tid", 0}}},
}

// formatNamed returns the first format of a name.
func formatNamed(name string) *Format {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	return &formats[i]
}

// matchDamaged returns the format of a file whose first record is damaged, nil where the
// file is something else: it has frames behind the damage, or most of its lines are records,
// or it would be JSON but for the damage and has the members of a format.
func (h *head) matchDamaged() *Format {
	if h.isForeign() {
		return nil
	}
	switch otlp.SniffDamaged(h.text, h.atEnd) {
	case otlp.FramingProto:
		return formatNamed("otlp-proto")
	case otlp.FramingJSON:
		return framesOfJSON()
	}
	if f := matchLines(h.text); f != nil {
		return f
	}
	return matchSigns(h.text)
}

// isForeign reports whether the file is known to be something else.
func (h *head) isForeign() bool {
	return h.isErrorAnswer() || isUTF16(h.text) || bytes.HasPrefix(bytes.TrimLeft(h.text, " \t\r\n"), []byte("<"))
}

// framesOfJSON returns the format of JSON in frames, which is the second one of its name.
func framesOfJSON() *Format {
	first := slices.IndexFunc(formats, func(f Format) bool { return f.Name == "otlp-json" })
	return &formats[first+1]
}

// maxLines bounds the lines that are looked at, each of which is taken apart.
const maxLines = 1 << 10

// matchLines returns the format of the first line that is a record, where there are more
// lines of that format than others that are not even remains of a record.
func matchLines(text []byte) *Format {
	var found *Format
	records, others, n := 0, 0, 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if line = trimGaps(line); len(line) == 0 {
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
		case f != nil && f.cut != nil && (found == nil || f == found):
			found = f
			records++
		case !isRemains(line):
			others++
		}
	}
	if records <= others {
		return nil
	}
	return found
}

// isRemains reports whether a line may be a part of a JSON object.
func isRemains(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"`)) || bytes.Contains(line, []byte(`":`))
}

// trimGaps removes white space around a line, and zeros in front, which a file has where
// pages of it were never written.
func trimGaps(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimLeft(line, "\x00"))
}

// matchSigns returns the format of a text that is JSON as far as its lines look like it, by
// the members that it has.
func matchSigns(text []byte) *Format {
	if isJSON(text) || !looksLikeJSON(text) {
		return nil
	}
	first, _, _ := bytes.Cut(trimGaps(text), []byte{'\n'})
	for _, s := range signatures {
		where := text
		if s.line {
			where = first
		}
		if !slices.ContainsFunc(s.signs, func(s sign) bool { return !s.in(where) }) {
			return formatNamed(s.format)
		}
	}
	return nil
}

// isJSON reports whether a text is valid JSON, as far as it goes.
func isJSON(text []byte) bool {
	var l jsontext.Lexer
	for l.Reset(text); l.Peek() != 0; {
		l.Skip()
	}
	return l.Err() == nil && l.AtEnd() || l.Truncated()
}

// looksLikeJSON reports whether nearly all lines of a text start as lines of JSON do.
func looksLikeJSON(text []byte) bool {
	lines, others := 0, 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if line = trimGaps(line); len(line) == 0 {
			continue
		}
		lines++
		if isNumber := line[0] == '-' || '0' <= line[0] && line[0] <= '9'; isNumber && bytes.IndexByte(line, ' ') >= 0 ||
			!isNumber && bytes.IndexByte([]byte(`{}[]",:`), line[0]) < 0 {
			others++
		}
	}
	return others <= 1+lines/16
}

// in reports whether a member of the sign stands in a text.
func (s sign) in(text []byte) bool {
	const space = " \t\r\n"
	name := []byte(`"` + s.key + `"`)
	for {
		i := bytes.Index(text, name)
		if i < 0 {
			return false
		}
		text = text[i+len(name):]
		value, ok := bytes.CutPrefix(bytes.TrimLeft(text, space), []byte(":"))
		if !ok {
			continue
		}
		if value = bytes.TrimLeft(value, space); s.value == 0 || len(value) > 0 && value[0] == s.value {
			return true
		}
	}
}
