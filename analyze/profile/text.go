package profile

import (
	"unicode/utf8"

	"github.com/optrace/optrace/op"
)

// MaxText is the longest name that figures are kept by, in bytes, as the exporter writes
// at most. A longer one is cut.
const MaxText = 64 << 10

// LongRecord reports whether a record has a text longer than MaxText among those that
// figures are kept by.
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

// cutMark ends a text that was cut.
const cutMark = "…"

// CutTexts cuts these texts of a record, which becomes another one.
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
