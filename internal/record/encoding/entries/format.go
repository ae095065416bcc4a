// Package entries writes entries as JSON Lines of the schema optrace.entries/v1: entries, ancestry records, headers,
// batch records and gap records.
//
// It holds the encoder of the format and its template cache. Packages convert and op decide the content of a record;
// the sink has files and compression.
package entries

import (
	"bytes"

	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Format is JSON Lines of the schema optrace.entries/v1.
var Format encoding.Joiner = format{}

type format struct{}

func (format) Name() string { return "entries" }

// Recognize looks for a line of this format.
func (format) Recognize(head []byte) encoding.Origin {
	return encoding.RecognizeLines(head,
		`{"batch":{"writer":`, `{"schema":"`+op.Schema+`"`, `{"step":`, `{"span":{"name":`, `{"gap":{"dropped":`)
}

func (format) NewEncoder(m *attr.Mapping, cacheBytes int) encoding.Encoder {
	return &encoder{
		conv: convert.New(m, cacheBytes/8), mapping: m, cache: attrcache.New[template](cacheBytes / 8 * 7),
	}
}

func (format) Frame(b *encoding.Batch, f *encoding.Framing) (framed []byte, head int) {
	out := f.Scratch
	if f.Newline {
		out = append(out, '\n')
	}
	record := op.Batch{Writer: f.Writer, Sequence: f.Sequence, Entries: int64(b.Entries)}
	out = append(record.AppendJSON(out), '\n')
	if f.Header {
		out = append(op.AppendHeader(out, b.FirstResource), '\n')
	}
	for i := range f.Gaps {
		out = append(f.Gaps[i].AppendJSON(out), '\n')
	}
	head = len(out)
	framed, f.Scratch = b.Between(out, nil)
	return framed, head
}

// Complete counts the complete lines of entries.
func (format) Complete(_ *encoding.Batch, written []byte) (n int) {
	for line := range bytes.Lines(written) {
		if bytes.HasPrefix(line, []byte(`{"step":`)) && bytes.HasSuffix(line, []byte("\n")) {
			n++
		}
	}
	return n
}

// Join appends a record encoded into another batch.
func (format) Join(b *encoding.Batch, r *encoding.Record) {
	if b.FirstResource == nil {
		b.First = r.Source
		b.FirstResource = r.Resource
	} else if r.Source != b.Last {
		b.Records = append(op.AppendHeader(b.Records, r.Resource), '\n')
	}
	b.Records = append(b.Records, r.Bytes...)
	b.Last = r.Source
	b.Entries += r.Entries
}
