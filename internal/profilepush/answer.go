package profilepush

import (
	"encoding/json"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
)

// answer returns what an ExportProfilesServiceResponse says, as far as it can be read:
// whoever answers with success has taken the message.
func answer(contentType string, body []byte) (a Answer) {
	if isJSON(contentType) {
		var r struct {
			Partial struct {
				Rejected json.Number `json:"rejectedProfiles"`
				Text     string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		if json.Unmarshal(body, &r) == nil {
			n, _ := r.Partial.Rejected.Int64() // 0 for what is no number
			a = Answer{Rejected: max(0, n), Text: clean(r.Partial.Text)}
		}
		return a
	}
	fields(body, func(n protowire.Number, _ uint64, partial []byte) {
		if n == 1 {
			fields(partial, func(n protowire.Number, v uint64, text []byte) {
				switch n {
				case 1:
					a.Rejected = max(0, int64(v))
				case 2:
					a.Text = clean(string(text))
				}
			})
		}
	})
	return a
}

// refusal returns what a google.rpc.Status says, or the first line of a text.
func refusal(contentType string, body []byte) (text string) {
	switch {
	case isJSON(contentType):
		var status struct{ Message string }
		if json.Unmarshal(body, &status) == nil {
			return clean(status.Message)
		}
	case strings.HasPrefix(contentType, "application/x-protobuf"):
		fields(body, func(n protowire.Number, _ uint64, message []byte) {
			if n == 2 {
				text = clean(string(message))
			}
		})
	case strings.HasPrefix(contentType, "text/plain"):
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return clean(line)
	}
	return text
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, "application/json") }

// fields calls f with the fields of a message, up to the first that cannot be read.
func fields(b []byte, f func(n protowire.Number, v uint64, text []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeField(b)
		if size < 0 {
			return
		}
		_, _, tag := protowire.ConsumeTag(b)
		var v uint64
		var text []byte
		switch value := b[tag:size]; kind {
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(value)
		case protowire.BytesType:
			text, _ = protowire.ConsumeBytes(value)
		}
		f(n, v, text)
		b = b[size:]
	}
}

const maxText = 500

// clean returns a text of a receiver fit to be shown.
func clean(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
