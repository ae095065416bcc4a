package jaeger

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
)

// AnswerError is an answer without the data that were asked for.
type AnswerError struct {
	// URL is the address that was asked, without a password.
	URL string
	// Status is the HTTP status, or the one that the answer states in its place.
	Status int
	// Message is the server's message, or a description of an answer that is not JSON.
	Message string

	foreign bool // not from an API of Jaeger's
}

var _ error = (*AnswerError)(nil)

// Error names the address, the answer, and the likely causes.
func (e *AnswerError) Error() string {
	text := fmt.Sprintf("%s: status %d: %q", e.URL, e.Status, e.Message)
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return text + "; a name and password can stand in the address, http://name:password@host"
	case e.foreign:
		return text + "; check that the address is that of Jaeger's pages, usually on port 16686, with the path that they are served under"
	}
	return text
}

// isNotFound reports whether Jaeger said that it holds nothing of the kind.
func (e *AnswerError) isNotFound() bool { return e.Status == http.StatusNotFound && !e.foreign }

// isNotFinite reports whether Jaeger could not write a trace because of a
// number that JSON has no text for, which makes version 1 of its API fail.
func (e *AnswerError) isNotFinite() bool {
	return e.Status == http.StatusInternalServerError && strings.Contains(e.Message, "unsupported value")
}

// isTooMany reports whether the storage refuses to look for so many traces.
func (e *AnswerError) isTooMany() bool { return strings.Contains(e.Message, "search depth") }

// isTemporary reports whether the same call may succeed a little later.
func (e *AnswerError) isTemporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Status == http.StatusInternalServerError && !e.isNotFinite() && !e.isTooMany()
}

// checkAnswer returns the error that an answer stands for; nil if it holds data.
func checkAnswer(url string, status int, body []byte) *AnswerError {
	text := bytes.TrimLeft(body, "\ufeff \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return &AnswerError{
			URL: url, Status: status, Message: describeForeign(text),
			// What stands in front of Jaeger fails in words of its own.
			foreign: status < http.StatusInternalServerError && status != http.StatusTooManyRequests,
		}
	}
	if msg, failed := failure(text); failed {
		return &AnswerError{URL: url, Status: max(status, http.StatusBadRequest), Message: msg}
	}
	if status != http.StatusOK {
		return &AnswerError{URL: url, Status: status, Message: excerpt(text), foreign: status == http.StatusNotFound}
	}
	return nil
}

// failure returns the message of an answer that holds an error instead of
// data. What it reads of an answer with data ends where those begin.
func failure(body []byte) (msg string, failed bool) {
	var l jsontext.Lexer
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

// describeForeign describes an answer that is not a JSON object.
func describeForeign(text []byte) string {
	lower := bytes.ToLower(text[:min(len(text), 512)])
	switch {
	case len(text) == 0:
		return "an empty answer"
	case bytes.HasPrefix(lower, []byte("<!doctype html")) || bytes.Contains(lower, []byte("<html")):
		return "a web page, not JSON"
	}
	return excerpt(text)
}

// excerpt returns the beginning of a text.
func excerpt(text []byte) string {
	const length = 120
	if len(text) <= length {
		return strings.ToValidUTF8(string(bytes.TrimSpace(text)), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:length]), "\ufffd") + "…"
}
