package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

type head struct {
	// text starts behind a UTF-8 byte order mark.
	text  []byte
	atEnd bool // set if text is the whole file

	opening byte // '{' or '[' for JSON, else 0
	// members are the members of the first JSON object that has any: the top level, or an element of the top-level
	// array. The last value may be cut.
	members []member
}

type member struct {
	key   string
	value []byte
}

func newHead(text []byte, atEnd bool) *head {
	h := &head{text: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), atEnd: atEnd}
	trimmed := bytes.TrimLeft(h.text, " \t\r\n")
	if len(trimmed) == 0 || (trimmed[0] != '{' && trimmed[0] != '[') {
		return h
	}
	h.opening = trimmed[0]
	var l lexer.Lexer
	l.Reset(trimmed)
	for len(h.members) == 0 && l.Err() == nil && l.Peek() != 0 {
		switch l.Peek() {
		case '{':
			h.object(&l, trimmed)
		case '[':
			for l.Array(); len(h.members) == 0 && l.More(); {
				if l.Peek() == '{' {
					h.object(&l, trimmed)
				} else {
					l.Skip()
				}
			}
		default:
			l.Skip()
		}
	}
	if len(h.members) == 0 && l.Err() != nil && !l.Truncated() {
		h.opening = 0 // a binary format may start like JSON
	}
	return h
}

func (h *head) object(l *lexer.Lexer, text []byte) {
	for l.Object(); l.More(); {
		key := string(l.Key())
		start := l.Offset()
		l.Skip()
		if l.Err() != nil && !l.Truncated() {
			value := bytes.TrimLeft(text[start:], " \t\r\n:")
			if len(value) > 0 && (value[0] == '[' || value[0] == '{') { // something in it is damaged
				h.members = append(h.members, member{key: key, value: value})
			}
			return
		}
		h.members = append(h.members, member{key: key, value: bytes.TrimSpace(text[start:l.Offset()])})
	}
}

func (h *head) empty() bool { return len(bytes.TrimSpace(h.text)) == 0 }

func (h *head) isObjects() bool { return h.opening == '{' }
func (h *head) isArray() bool   { return h.opening == '[' }

// value returns the value of a member of the first record, cut at the end of the head, nil if there is none.
func (h *head) value(key string) []byte {
	for _, m := range h.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (h *head) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return h.value(key) != nil })
}

func (h *head) startsWith(key string, c byte) bool {
	v := h.value(key)
	return len(v) > 0 && v[0] == c
}

// holds reports whether the value of key is an object with one of members, at any depth.
func (h *head) holds(key string, members ...string) bool {
	return h.startsWith(key, '{') && slices.ContainsFunc(members, func(member string) bool {
		return bytes.Contains(h.value(key), []byte(`"`+member+`"`))
	})
}

// isErrorAnswer reports whether the file is a server's error answer: {"error":…}, {"data":null,"errors":[…]} or
// {"code":…,"message":…}.
func (h *head) isErrorAnswer() bool {
	return h.isObjects() && (h.has("error") && !h.has("operation") ||
		h.has("errors") && !h.startsWith("errors", 'n') && !h.startsWith("data", '[') ||
		h.has("code") && h.has("message"))
}

// refusedError is the error of a file that holds no recording, or one that this version cannot read.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

// laterSchema returns an error for a file of optrace with a header of another version, nil for any other file.
func (h *head) laterSchema() error {
	schema := h.value("schema")
	for _, known := range []string{op.Schema, opfile.PartialSchema} {
		family, _, _ := strings.Cut(known, "/")
		if bytes.HasPrefix(schema, []byte(`"`+family+"/")) && string(schema) != `"`+known+`"` {
			return &refusedError{fmt.Sprintf("schema %s is not supported, this version reads %q", schema, known)}
		}
	}
	return nil
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func (h *head) refusal() error {
	trimmed := bytes.TrimLeft(h.text, " \t\r\n")
	switch {
	case h.isErrorAnswer():
		return &refusedError{"a server's error answer, not a trace: " + h.answer()}
	case isUTF16(h.text):
		return &refusedError{"text in UTF-16; convert it to UTF-8"}
	// Arrow's file format and stream format.
	case bytes.HasPrefix(h.text, []byte("ARROW1")), bytes.HasPrefix(h.text, []byte("\xff\xff\xff\xff")):
		return &refusedError{"Arrow is not supported: write tables as Parquet, and record entries, with zstd for small files"}
	case bytes.HasPrefix(h.text, []byte("\n\x00")) && len(bytes.TrimLeft(h.text, "\n\x00")) == 0:
		return &refusedError{fmt.Sprintf("%d bytes of empty protobuf messages, of OTLP or of Perfetto", len(h.text))}
	case isXSpace(h.text):
		return &refusedError{"an XPlane profile of XLA (JAX, TensorFlow, PyTorch/XLA), which is not supported: read " +
			"the *.trace.json.gz beside it, or record with jax.profiler.trace(dir, create_perfetto_trace=True)"}
	case h.has("rocprofiler-sdk-tool"):
		return &refusedError{"a JSON of rocprofv3, which is not supported: record with --output-format pftrace"}
	case bytes.HasPrefix(trimmed, []byte("<")):
		msg := "an HTML or XML page, not a trace"
		if m := title.FindSubmatch(trimmed); m != nil {
			msg += fmt.Sprintf(": %q", strings.TrimSpace(html.UnescapeString(string(m[1]))))
		}
		return &refusedError{msg}
	}
	if what := h.summary(); what != "" {
		return &refusedError{what + ", an output for other tools: read the recording instead"}
	}
	return &UnknownFormatError{Found: h.describe()}
}

var stackLine = regexp.MustCompile(`^[^\n;]+(;[^\n;]+)+ [0-9]+\r?(\n|$)`)

// summary names an output of optrace or another tool that holds no single operations, "" for any other file.
func (h *head) summary() string {
	switch {
	case bytes.HasPrefix(h.text, []byte("step,operation,")):
		return "a CSV table of operations"
	case stackLine.Match(h.text):
		return "folded stacks"
	case len(h.text) > 2 && h.text[0] == 0x0a && h.text[1] <= 0x0c && h.text[2] == 0x08:
		return "a pprof profile" // its first field is a pair of numbers
	}
	return ""
}

func (h *head) describe() string {
	const maxKeys = 8
	var keys []string
	for _, m := range h.members[:min(len(h.members), maxKeys)] {
		keys = append(keys, fmt.Sprintf("%q", m.key))
	}
	switch {
	case len(keys) > 0:
		return "JSON with the keys " + strings.Join(keys, ", ")
	case h.opening != 0:
		return "JSON without objects that have members"
	}
	const shown = 16
	return fmt.Sprintf("starts with %q", h.text[:min(len(h.text), shown)])
}

func isUTF16(text []byte) bool {
	return len(text) >= 2 && (text[0] == 0xff && text[1] == 0xfe || text[0] == 0xfe && text[1] == 0xff ||
		text[0] == 0 && (text[1] == '{' || text[1] == '[') || text[1] == 0 && (text[0] == '{' || text[0] == '['))
}

// isXSpace reports whether text is the start of XLA's message XSpace. A plane starts with its id, if it is not 0, and
// its name. In OTLP a message or a number is in the place of the name.
func isXSpace(text []byte) bool {
	c := protobuf.Cursor{Buf: text}
	isPlane := c.Next() && c.Field == 1 && c.Type == protobuf.Bytes && c.Varint() > 0 && c.Next()
	if isPlane && c.Field == 1 && c.Type == protobuf.Varint {
		c.Varint()
		isPlane = c.Next()
	}
	isPlane = isPlane && c.Field == 2 && c.Type == protobuf.Bytes
	size := c.Varint()
	name := text[c.Pos:]
	name = name[:min(size, uint64(len(name)))]
	return isPlane && len(name) > 0 && bytes.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

var serverMessage = regexp.MustCompile(`"(?:message|msg|error)"\s*:\s*("(?:[^"\\]|\\.)*")`)

// answer returns the quoted text of an error answer, or the beginning of the answer.
func (h *head) answer() string {
	var message string
	if m := serverMessage.FindSubmatch(h.text); m != nil && json.Unmarshal(m[1], &message) == nil {
		return fmt.Sprintf("%q", message)
	}
	const maxShown = 300
	return fmt.Sprintf("%q", h.text[:min(len(h.text), maxShown)])
}

// matchDamaged returns the format of a file with a damaged beginning: one with frames behind the damage, or one whose
// lines are mostly records. It returns nil for any other file.
func (h *head) matchDamaged() *Format {
	if h.isErrorAnswer() || isUTF16(h.text) || isXSpace(h.text) ||
		bytes.HasPrefix(bytes.TrimLeft(h.text, " \t\r\n"), []byte("<")) {
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
		// Not even a part of a JSON object.
		case !bytes.HasPrefix(line, []byte(`{"`)) && !bytes.Contains(line, []byte(`":`)):
			others++
		}
	}
	if records <= others {
		return nil
	}
	return found
}
