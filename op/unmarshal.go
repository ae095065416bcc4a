package op

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// UnmarshalJSON reads a number or null.
func (i *Int) UnmarshalJSON(text []byte) error {
	var v *int64
	err := json.Unmarshal(text, &v)
	*i = Int{}
	if v != nil {
		*i = Known(*v)
	}
	return err
}

// UnmarshalText reads the hexadecimal form.
func (id *TraceID) UnmarshalText(text []byte) error {
	parsed, ok := ParseTraceID(text)
	if !ok {
		return fmt.Errorf("%q is no trace id", text)
	}
	*id = parsed
	return nil
}

// UnmarshalText reads the hexadecimal form.
func (id *SpanID) UnmarshalText(text []byte) error {
	parsed, ok := ParseSpanID(text)
	if !ok {
		return fmt.Errorf("%q is no span id", text)
	}
	*id = parsed
	return nil
}

// UnmarshalJSON reads the form of [Entry.MarshalJSON], as a [Reader] reads a
// line.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	rec, err := NewReader(&line, "").Next()
	switch {
	case err != nil:
		return fmt.Errorf("reading entry: %w", err)
	case rec.Entry == nil:
		return fmt.Errorf("%.100q is no entry", text)
	}
	*e = *rec.Entry.Clone()
	return nil
}
