package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/optrace/optrace/internal/jsontext"
)

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

// lineDecoder decodes lines of partial results, many of them with the same memory. The zero
// value is ready to use.
type lineDecoder struct {
	rest []byte
	bins []int64
}

// decode is decodeLine. The bins of the line are valid until the next call.
func (d *lineDecoder) decode(at *linePlace, text []byte, line *partialLine) error {
	if d.decodeBins(text, line) {
		return nil
	}
	*line = partialLine{}
	return decodeLine(at, text, line)
}

// binsMember is what stands in front of bins in a line. It is no part of a text, in which
// quotes are escaped.
const binsMember = `"bins":[`

// decodeBins decodes a line with bins as Partial writes it, and reports whether it was one.
// Bins are most of the text. They are read here, once; encoding/json, which looks at each
// byte three times, gets the line without them.
func (d *lineDecoder) decodeBins(text []byte, line *partialLine) bool {
	start := bytes.Index(text, []byte(binsMember))
	if start < 0 {
		return false
	}
	start += len(binsMember)
	end := d.readBins(text, start)
	if end < 0 || bytes.Contains(text[end:], []byte(binsMember)) {
		return false
	}
	d.rest = append(append(d.rest[:0], text[:start]...), text[end:]...)
	if decodeLine(new(linePlace), d.rest, line) != nil {
		return false
	}
	return line.SetBins(d.bins)
}

// readBins reads the integers of a list and returns where its bracket is, or -1.
func (d *lineDecoder) readBins(text []byte, i int) (end int) {
	d.bins = d.bins[:0]
	for {
		var v int64
		v, i = jsontext.Integer(text, i)
		if uint(i) >= uint(len(text)) {
			return -1
		}
		d.bins = append(d.bins, v)
		switch text[i] {
		case ',':
			i++
		case ']':
			return i
		default:
			return -1
		}
	}
}
