package jaeger

import (
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
)

// message returns the text in the error part of an answer, "" where there is
// none:
//
//	"not found"
//	{"httpCode":404,"message":"No traces found"}
//	[{"code":500,"msg":"json: unsupported value: NaN"}]
func message(text []byte) string {
	var l jsontext.Lexer
	l.Reset(text)
	if l.Peek() == '[' {
		if l.Array(); !l.More() {
			return ""
		}
	}
	switch l.Peek() {
	case '"':
		return strings.ToValidUTF8(string(l.Str()), "\ufffd")
	case '{':
		for l.Object(); l.More(); {
			switch string(l.Key()) {
			case "message", "msg":
				if l.Peek() == '"' {
					return strings.ToValidUTF8(string(l.Str()), "\ufffd")
				}
			}
			l.Skip()
		}
		return string(text)
	}
	return ""
}
