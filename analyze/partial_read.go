package analyze

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// partialReader reads files of partial results. The zero value is ready to use.
type partialReader struct {
	files   int64 // that were read
	held    int64 // about how much memory a file takes that is being read
	entries *entries.Reader
}

// partialDoc is a document that is being read.
type partialDoc struct {
	counter *counter
	profile *profile.Profile
	groups  bool // the groups are asked for
	listed  int64
	input   bool
	totals  bool

	hold    func(bytes int64) error
	entries *entries.Reader
	at      linePlace
}

// linePlace is the place of a line.
type linePlace struct {
	file   string
	line   int64 // from 0
	offset int64
	first  int64 // line of the document
}

// syntax returns an error at the place.
func (p *linePlace) syntax(offset int64, err error) *op.SyntaxError {
	return &op.SyntaxError{File: p.file, Line: p.line + 1, Offset: p.offset + offset, Msg: err.Error(), Class: op.ErrorRecord}
}

// decodeLine decodes a line strictly: a member that is not known may be a part of the sums.
func decodeLine(at *linePlace, text []byte, line *partialLine) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(line)
	if err == nil {
		if _, more := dec.Token(); more == io.EOF {
			return nil
		}
		return at.syntax(dec.InputOffset(), errors.New("there is something behind the line's object"))
	}
	offset := dec.InputOffset()
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = s.Offset
	} else if u, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = u.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = int64(len(text)), errors.New("the line ends within its object")
	}
	return at.syntax(offset, err)
}

// addPartial adds a file of partial results. Of one that is damaged it counts the error and
// nothing else; the error that it returns is final.
func (c *collector) addPartial(p *op.Partial) error {
	docs, err := c.readPartial(p)
	if c.partial.held = 0; err != nil {
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		if !ok {
			return err
		}
		c.counter.add(op.Record{}, syntax)
		return nil
	}
	for _, d := range docs {
		c.counter.merge(d.counter)
		c.profile.Merge(d.profile)
		c.profile.Skip(d.listed)
	}
	c.counter.inFile.partials++
	c.partial.files++
	return nil
}

// readPartial reads all documents of a file: usually one.
func (c *collector) readPartial(p *op.Partial) ([]*partialDoc, error) {
	if c.partial.entries == nil {
		c.partial.entries = entries.NewReader(nil, "")
	}
	at := linePlace{file: p.File}
	listed := int64(0)
	var docs []*partialDoc
	var doc *partialDoc
	for text := range bytes.Lines(p.Text) {
		switch line := bytes.TrimSpace(text); {
		case len(line) == 0:
		case doc == nil:
			at.first = at.line
			options, err := readHeader(&at, line)
			if err != nil {
				return nil, err
			}
			if doc, err = c.newPartialDoc(options); err != nil {
				return nil, fmt.Errorf("reading %s: %w", p.File, err)
			}
			doc.profile.ContinueFrom(c.profile, listed)
			docs = append(docs, doc)
		default:
			doc.at = at
			ended, err := doc.add(line)
			if err != nil {
				return nil, err
			}
			if ended {
				listed += doc.listed
				doc = nil
			}
		}
		at.line++
		at.offset += int64(len(text))
	}
	if doc != nil || len(docs) == 0 {
		err := at.syntax(0, errors.New("the file ends within partial results"))
		err.Truncated = true
		return nil, err
	}
	return docs, nil
}

// readHeader reads the first line of a document.
func readHeader(at *linePlace, text []byte) (*partialOptions, error) {
	var version struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(text, &version) == nil && version.Schema != opfile.PartialSchema {
		return nil, at.syntax(0, fmt.Errorf("schema %q is not supported, this version reads %q", version.Schema, opfile.PartialSchema))
	}
	var line partialLine
	if err := decodeLine(at, text, &line); err != nil {
		return nil, err
	}
	if line.Options == nil || line.parts() > 0 {
		return nil, at.syntax(0, errors.New("the first line of partial results has a schema and options, and nothing else"))
	}
	return line.Options, nil
}

// parts returns how many parts of a document the line has.
func (l *partialLine) parts() int {
	n := l.Parts()
	for _, has := range []bool{
		l.Input != nil, l.Reason != nil, l.Writer != nil, l.End != nil,
	} {
		if has {
			n++
		}
	}
	return n
}

// newPartialDoc returns an empty document with options. It fails where these do not give
// the sums that are asked for.
func (c *collector) newPartialDoc(o *partialOptions) (*partialDoc, error) {
	if err := o.suit(c.opts.sums()); err != nil {
		return nil, fmt.Errorf("the profile was made with other options: %w; make it again with those of this report", err)
	}
	opts := c.opts.sums()
	opts.Top = cmp.Or(o.Top, -1)
	if opts.By = nil; len(o.By) > 0 {
		keys, err := key.Parse(strings.Join(o.By, ","))
		if err != nil {
			return nil, err
		}
		opts.By = keys
	}
	d := &partialDoc{
		counter: newCounter(), profile: profile.New(opts), groups: len(c.opts.By) > 0, entries: c.partial.entries,
		hold: func(bytes int64) error {
			c.partial.held += bytes
			return c.account.set(c.bytes())
		},
	}
	return d, nil
}

// suit reports as an error what o, by which partial results were made, lacks for a report
// with the options want.
func (o *partialOptions) suit(want profile.Options) error {
	asked := optionsForm(want)
	switch {
	case len(asked.By) > 0 && !slices.Equal(o.By, asked.By):
		return fmt.Errorf("its groups are by %s, and asked for is by %s", listOrNone(o.By), listOrNone(asked.By))
	case o.MaxGroups != asked.MaxGroups:
		return fmt.Errorf("its tables have up to %d rows, and asked for are %d", o.MaxGroups, asked.MaxGroups)
	case o.Top < asked.Top:
		return fmt.Errorf("it lists %d of the slowest operations, and asked for are %d", o.Top, asked.Top)
	case o.HotspotBytes != asked.HotspotBytes:
		return fmt.Errorf("its hotspots are above %d bytes, and asked for is above %d", o.HotspotBytes, asked.HotspotBytes)
	case o.RecordedFLOPs != asked.RecordedFLOPs:
		return errors.New("it has FLOPs that were recorded alone, or asked for are those alone")
	case !samePeaks(o.Peaks, asked.Peaks):
		return errors.New("its rooflines are by other peaks of devices")
	}
	return nil
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ",")
}

func samePeaks(a, b []peaks.Device) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && (len(a) == 0 && len(b) == 0 || bytes.Equal(one, other))
}

// add adds a line behind the first one and reports whether it was the last one.
func (d *partialDoc) add(text []byte) (ended bool, err error) {
	if err := d.hold(int64(len(text))); err != nil {
		return false, err
	}
	var line partialLine
	if err := decodeLine(&d.at, text, &line); err != nil {
		return false, err
	}
	if line.parts() != 1 || line.Schema != "" || line.Options != nil {
		return false, d.at.syntax(0, errors.New("a line of partial results has one part of them"))
	}
	switch {
	case line.Slowest != nil, line.Hotspot != nil:
		return false, d.addListed(&line.Line, text, append(line.Slowest, line.Hotspot...))
	case line.End != nil:
		if n := d.at.line - d.at.first; line.End.Lines != n || !d.input || !d.totals {
			return false, d.at.syntax(0, fmt.Errorf("partial results of %d lines have %d, or lack their input or totals", line.End.Lines, n))
		}
		if !d.groups {
			d.profile.DropGroups()
		}
		return true, nil
	}
	if err := d.addForm(&line); err != nil {
		if final, ok := errors.AsType[profile.HoldError](err); ok {
			return false, final.Err
		}
		return false, d.at.syntax(0, err)
	}
	return false, nil
}

// addListed adds an entry of a list, which stands in the text of a line.
func (d *partialDoc) addListed(l *profile.Line, line, text []byte) error {
	offset := int64(max(0, bytes.Index(line, text)))
	d.entries.Reset(bytes.NewBuffer(text), d.at.file, op.Position{Offset: d.at.offset + offset, Lines: d.at.line})
	rec, err := d.entries.Next()
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err != nil || rec.Entry == nil:
		return d.at.syntax(offset, errors.New("this is no entry"))
	}
	if err := d.profile.AddListed(l, rec.Entry); err != nil {
		return d.at.syntax(offset, err)
	}
	d.listed++
	return nil
}
