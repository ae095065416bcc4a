package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/text/termtext"
)

// answer is the text of an answer and what a command found, which becomes its structured content.
type answer struct {
	text  string
	found any
}

// only leaves the members of the found object whose names contain one of the words. a may be nil.
func (a *answer) only(words ...string) *answer {
	if a == nil {
		return nil
	}
	all := object(a.found)
	for name := range all {
		if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) }) {
			delete(all, name)
		}
	}
	a.found = all
	return a
}

// object returns v as JSON decodes it, nil if it is no object.
func object(v any) (o map[string]any) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&o)
	return o
}

// structured returns the found object in at most [MaxAnswer] bytes: without unknown and empty members, and with the
// first elements of long lists.
func (a *answer) structured() any {
	all := object(a.found)
	for most := 20; most > 0; most /= 2 {
		short, _ := clip(all, most).(map[string]any)
		short["note"] = strings.TrimSpace(mark)
		if text, err := json.Marshal(short); err == nil && len(text) <= MaxAnswer {
			return short
		}
	}
	return map[string]any{"left_out": "everything: ask for fewer rows"}
}

func clip(v any, most int) any {
	switch v := v.(type) {
	case string:
		return termtext.Shorten(v, 200)
	case []any:
		short := make([]any, min(len(v), most))
		for i := range short {
			short[i] = clip(v[i], most)
		}
		return short
	case map[string]any:
		short := make(map[string]any)
		for name, value := range v {
			list, isList := value.([]any)
			if len(list) > most {
				short[name+"_left_out"] = len(list) - most
			}
			if value != nil && !(isList && len(list) == 0) {
				short[name] = clip(value, most)
			}
		}
		return short
	}
	return v
}

// withoutBars blanks the parts of bars, which say what figures beside them do.
func withoutBars(text string) string {
	text = strings.Map(func(r rune) rune {
		if '▀' <= r && r <= '▟' {
			return ' '
		}
		return r
	}, text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
