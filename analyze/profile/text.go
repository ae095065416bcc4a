package profile

import (
	"unicode/utf8"

	"github.com/optrace/optrace/op"
)

// MaxText is the longest name in figures, in bytes, and the longest written by the exporter. Longer names are cut.
const MaxText = 64 << 10

// LongRecord reports whether a name in rec is longer than MaxText.
func LongRecord(rec *op.Record) bool {
	switch {
	case rec.Entry != nil:
		e := rec.Entry
		return max(len(e.Operation), len(e.DeviceID), len(e.Root), len(e.Service), len(e.Host), len(e.Error)) > MaxText
	case rec.Span != nil:
		return max(len(rec.Span.Name), len(rec.Span.Service)) > MaxText
	}
	return false
}

// cutMark ends a shortened text.
const cutMark = "…"

// CutTexts shortens the long names of rec. It replaces the entry or span by a copy.
func CutTexts(rec *op.Record) {
	cut := func(s *string) {
		if len(*s) > MaxText {
			n := MaxText - len(cutMark)
			for n > 0 && !utf8.RuneStart((*s)[n]) {
				n--
			}
			*s = (*s)[:n] + cutMark
		}
	}
	if rec.Entry != nil {
		e := *rec.Entry
		rec.Entry = &e
		for _, s := range []*string{&e.Operation, &e.DeviceID, &e.Root, &e.Service, &e.Host, &e.Error} {
			cut(s)
		}
	}
	if rec.Span != nil {
		s := *rec.Span
		rec.Span = &s
		cut(&s.Name)
		cut(&s.Service)
	}
}
