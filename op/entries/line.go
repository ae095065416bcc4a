package entries

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/model/unmarshal"
	"github.com/optrace/optrace/op"
)

// DecodeLine reads one line of the entries format. The record may be kept. An error is a *[op.SyntaxError].
func DecodeLine(line []byte) (op.Record, error) {
	var d decode.Decoder
	rec, offset, err := d.Record(line)
	if err != nil {
		return op.Record{}, &op.SyntaxError{
			File: "line", Offset: int64(offset), Msg: err.Error(), Truncated: d.Lex.Truncated(), Class: d.ErrorClass(),
		}
	}
	return rec, nil
}

// DecodeRest reads the text of AppendRest into attrs and links, and returns extra. Other text gives a warning.
func DecodeRest(text string, attrs []op.Attr, links []op.Link) (x *op.Extra, w op.Warning) {
	var d decode.Decoder
	rest, _, err := d.Record([]byte(text[:max(0, len(text)-1)] + `,"operation":"rest","duration_ns":0}`))
	if err != nil || rest.Entry == nil {
		return nil, op.WarnBadValue
	}
	e := rest.Entry
	for i := range attrs {
		if a := opmodel.FindAttr(e.Attrs, attrs[i].Key); a != nil {
			attrs[i].Type = a.Type
		}
	}
	for i := range min(len(links), len(e.Links)) {
		if links[i].TraceID == e.Links[i].TraceID && links[i].SpanID == e.Links[i].SpanID {
			links[i].Extra = e.Links[i].Extra
			links[i].Attention = e.Links[i].Attention
		}
	}
	return e.Extra, e.Warn
}

func init() { unmarshal.Entry = readEntry }

func readEntry(e any, text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	rec, err := NewReader(&line, "").Next()
	switch {
	case err != nil:
		return fmt.Errorf("reading entry: %w", err)
	case rec.Entry == nil:
		return fmt.Errorf("%.100q is not an entry", text)
	}
	*e.(*op.Entry) = *rec.Entry.Clone()
	return nil
}
