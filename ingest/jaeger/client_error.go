package jaeger

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/optrace/optrace/internal/text/lexer"
)

// answerError is an answer without the requested data.
type answerError struct {
	url     string // of the request, without a password
	status  int    // of HTTP, or as stated in the answer
	message string // of the server, or a description of an answer without JSON
	foreign bool   // not from Jaeger's API
}

// Error states the address, the answer and the likely cause.
func (e *answerError) Error() string {
	text := fmt.Sprintf("%s: status %d: %q", e.url, e.status, e.message)
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return text + "; the address may contain a name and password: http://name:password@host"
	case e.foreign:
		return text + "; use the address of Jaeger's pages, usually port 16686, with their path"
	}
	return text
}

// isNotFound reports whether Jaeger has no such trace.
func (e *answerError) isNotFound() bool { return e.status == http.StatusNotFound && !e.foreign }

// isNotFinite reports whether Jaeger failed to write a number as JSON. Version 1 of its API fails for such a trace.
func (e *answerError) isNotFinite() bool {
	return e.status == http.StatusInternalServerError && strings.Contains(e.message, "unsupported value")
}

// isTooMany reports whether the storage refuses the number of traces.
func (e *answerError) isTooMany() bool { return strings.Contains(e.message, "search depth") }

// isTemporary reports whether the same call may succeed later.
func (e *answerError) isTemporary() bool {
	switch e.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.status == http.StatusInternalServerError && !e.isNotFinite() && !e.isTooMany()
}

// checkAnswer returns the error of an answer, nil for an answer with data.
func checkAnswer(url string, status int, body []byte) error {
	text := bytes.TrimLeft(body, "\ufeff \t\r\n")
	failed := &answerError{url: url, status: status}
	switch lower := bytes.ToLower(text[:min(len(text), 512)]); {
	case len(text) == 0:
		failed.message = "an empty answer"
	case bytes.Contains(lower, []byte("<html")):
		failed.message = "a web page, not JSON"
	case text[0] != '{':
		failed.message = excerpt(text)
	default:
		msg, isError := failure(text)
		switch {
		case isError:
			failed.status = max(status, http.StatusBadRequest)
			failed.message = msg
		case status == http.StatusOK:
			return nil
		default:
			failed.message = excerpt(text)
			failed.foreign = status == http.StatusNotFound
		}
		return failed
	}
	// A proxy in front of Jaeger has error messages of its own.
	failed.foreign = status < http.StatusInternalServerError && status != http.StatusTooManyRequests
	return failed
}

// failure returns the message of an answer with an error instead of data. It stops reading at the data.
func failure(body []byte) (msg string, failed bool) {
	var l lexer.Lexer
	l.Reset(body)
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "error", "errors":
			text := l.Raw()
			if string(text) != "null" && string(text) != "[]" {
				return message(text), true
			}
		case "data", "result":
			if !l.Null() {
				return "", false
			}
		default:
			l.Skip()
		}
	}
	return "", false
}

// message returns the text of the error part of an answer, "" if there is none:
//
//	"not found"
//	{"httpCode":404,"message":"No traces found"}
//	[{"code":500,"msg":"json: unsupported value: NaN"}]
func message(text []byte) string {
	var l lexer.Lexer
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
			if key := string(l.Key()); (key == "message" || key == "msg") && l.Peek() == '"' {
				return strings.ToValidUTF8(string(l.Str()), "\ufffd")
			}
			l.Skip()
		}
		return string(text)
	}
	return ""
}

// excerpt returns the beginning of a text.
func excerpt(text []byte) string {
	const length = 120
	if len(text) <= length {
		return strings.ToValidUTF8(string(bytes.TrimSpace(text)), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:length]), "\ufffd") + "…"
}
