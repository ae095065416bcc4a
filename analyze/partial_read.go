package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// addPartial adds a file of partial results. A damaged file only counts as an unreadable record. A returned error
// ends the reading.
func (c *collector) addPartial(p *op.Partial) error {
	defer func() { c.partialBytes = 0 }()
	docs, err := c.readPartial(p)
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		c.counter.add(op.Record{}, syntax)
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range docs {
		c.counter.merge(d.counter)
		c.profile.MergeNext(d.profile)
	}
	c.counter.inFile.partials++
	c.partials++
	return nil
}

type partialDoc struct {
	counter       *counter
	profile       *profile.Profile
	lines         int64
	input, totals bool // whether the line was read
}

// readPartial reads all documents of a file, usually one.
func (c *collector) readPartial(p *op.Partial) (docs []*partialDoc, err error) {
	var doc *partialDoc // nil between documents
	at := op.SyntaxError{File: p.File, Class: op.ErrorRecord}
	held := int64(len(p.Text)) // by earlier documents
	for text := range bytes.Lines(p.Text) {
		at.Line++
		ended := false
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case doc == nil:
			if err = c.checkHeader(text); err == nil {
				doc = &partialDoc{counter: newCounter(), profile: profile.New(c.opts.sums()), lines: 1}
				docs = append(docs, doc)
			}
		default:
			ended, err = doc.add(text)
		}
		if other, ok := errors.AsType[otherOptionsError](err); ok {
			return nil, fmt.Errorf("reading %s: %w", p.File, other)
		}
		if err != nil {
			at.Msg = err.Error()
			return nil, &at
		}
		if doc != nil {
			c.partialBytes = held + doc.profile.Bytes()
			if err := c.hold(); err != nil {
				return nil, err
			}
		}
		if ended {
			held = c.partialBytes
			doc = nil
		}
		at.Offset += int64(len(text))
	}
	if doc != nil || len(docs) == 0 {
		at.Line++
		at.Truncated = true
		at.Msg = "the file ends within partial results"
		return nil, &at
	}
	return docs, nil
}

func (c *collector) checkHeader(text []byte) error {
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return err
	}
	if version.Schema != opfile.PartialSchema {
		return fmt.Errorf("schema %q is not supported, this version reads %q", version.Schema, opfile.PartialSchema)
	}
	return profile.Decode(text, func(header *partialHeader) error {
		if header.Options == nil {
			return errors.New("no options in the first line")
		}
		return header.Options.suit(c.opts.sums())
	})
}

// otherOptionsError reports partial results made with other options. Both options are JSON.
type otherOptionsError struct{ made, asked []byte }

func (e otherOptionsError) Error() string {
	const format = "the profile was made with other options: it has %s, the report needs %s; " +
		"make it again with the options of this report"
	return fmt.Sprintf(format, e.made, e.asked)
}

// suit returns an error if partial results made with o lack sums that want needs. Longer lists and extra groups
// are accepted.
func (o partialOptions) suit(want profile.Options) error {
	asked := optionsForm(want)
	if o.Top > asked.Top {
		o.Top = asked.Top
	}
	if len(asked.By) == 0 {
		o.By = nil
	}
	has, err := json.Marshal(o)
	wants, err2 := json.Marshal(asked)
	if !bytes.Equal(has, wants) {
		return otherOptionsError{has, wants}
	}
	return errors.Join(err, err2)
}

// add adds a line after the header and reports whether it was the last.
func (d *partialDoc) add(text []byte) (ended bool, err error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return false, err
	}
	if len(parts) != 1 {
		return false, errors.New("a line of partial results must have one member")
	}
	for name, part := range parts {
		switch name {
		case "input":
			err = profile.Decode(part, d.addInput)
		case "reason":
			err = profile.Decode(part, d.addReason)
		case "writer":
			err = profile.Decode(part, d.addWriter)
		case "end":
			return true, profile.Decode(part, d.end)
		default:
			if name == "totals" && d.totals {
				return false, errTwice
			}
			d.totals = d.totals || name == "totals"
			err = d.profile.AddLine(name, part)
		}
	}
	d.lines++
	return false, err
}

var errTwice = errors.New("repeated part of partial results")

const maxBytes = 1 << 56

func (d *partialDoc) addInput(l *inputLine) error {
	if d.input {
		return errTwice
	}
	d.input = true
	if !wide.AreCounts(l.Files, l.Entries, l.NoOps, l.Weighted, l.Truncated) || l.Bytes > maxBytes ||
		min(l.Bytes, l.Malformed, l.Dropped, l.DroppedLinks, l.MissingEntries) < 0 || len(l.Problems) > maxProblems {
		return profile.ErrNumber
	}
	c := d.counter
	c.counts = l.counts
	c.Formats = nil
	c.Models = nil
	for _, name := range l.Formats {
		c.Formats = addTo(c.Formats, name)
	}
	for _, model := range l.Models {
		c.Models = addTo(c.Models, model)
	}
	for name, n := range l.Warnings {
		w, ok := op.ParseWarning(name)
		if !ok || !wide.AreCounts(n) {
			return fmt.Errorf("warning %q of %d entries: %w", name, n, profile.ErrNumber)
		}
		c.warnings[bits.TrailingZeros32(uint32(w))] = n
	}
	for _, p := range l.Problems {
		c.addProblem(&op.SyntaxError{File: p.File, Line: p.Line, Offset: p.Offset, Msg: p.Message})
	}
	return nil
}

func (d *partialDoc) addReason(l *reasonLine) error {
	i := slices.Index(reasonTables[:], l.Of)
	if i < 0 || l.N < 0 {
		return profile.ErrText
	}
	return d.counter.reasons[i].Put([]byte(l.Reason), l.reasonCount, l.Other)
}

func (d *partialDoc) addWriter(l *writerLine) error {
	var set sequence.Set
	for _, r := range l.Batches {
		if r[0] > r[1] {
			return profile.ErrNumber
		}
		set.AddRange(r[0], r[1])
	}
	return d.counter.writers.Put([]byte(l.Writer), set, l.Other)
}

func (d *partialDoc) end(l *endLine) error {
	if l.Lines != d.lines || !d.input || !d.totals {
		return fmt.Errorf("partial results of %d lines have %d, or lack their input or totals", l.Lines, d.lines)
	}
	return nil
}
