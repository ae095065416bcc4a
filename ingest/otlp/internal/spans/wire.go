package spans

import (
	"encoding/base64"
	"math"

	"github.com/optrace/optrace/internal/text/protobuf"
)

// wire is a [message] in protobuf.
type wire struct{ protobuf.Cursor }

func wireOf(text []byte) wire { return wire{protobuf.Cursor{Buf: text}} }

func (w *wire) reset(text []byte) { *w = wireOf(text) }

// listed returns the next element of a group's list if its length takes one or two bytes, nil otherwise.
func (w *wire) listed() []byte {
	const tag = fieldList<<3 | protobuf.Bytes
	b := w.Buf[w.Pos:]
	if w.Err != nil || len(b) < 3 || b[0] != tag {
		return nil
	}
	start, end := 2, 2+int(b[1])
	if b[1] >= 0x80 {
		start, end = 3, 3+int(b[1]&0x7f)+int(b[2])<<7
	}
	if end > len(b) || start == 3 && b[2] >= 0x80 {
		return nil
	}
	w.Pos += end
	return b[start:end]
}

func (w *wire) open() (outer int) {
	outer = len(w.Buf)
	if w.Field == 0 { // the outermost message
		return outer
	}
	if b := w.Bytes(); w.Err == nil {
		w.Buf = w.Buf[:w.Pos]
		w.Pos -= len(b)
	}
	return outer
}

func (w *wire) more(outer int, _ schema) bool {
	if w.Next() {
		return true
	}
	w.Buf = w.Buf[:outer]
	return false
}

func (w *wire) number() int             { return w.Field }
func (w *wire) failure() error          { return w.Err }
func (w *wire) null() bool              { return false }
func (w *wire) skip()                   { w.Skip() }
func (w *wire) bytes() []byte           { return w.Bytes() }
func (w *wire) element(first bool) bool { return first && w.Err == nil }
func (w *wire) integer() (int64, bool)  { return int64(w.Uint()), true }
func (w *wire) double() (float64, bool) { return math.Float64frombits(w.Fixed64()), true }
func (w *wire) boolean() (v, ok bool)   { return w.Uint() != 0, true }
func (w *wire) count() int64            { return int64(uint32(w.Uint())) }
func (w *wire) flags() uint32           { return w.Fixed32() }
func (w *wire) time() (uint64, bool)    { return w.Fixed64(), true }
func (w *wire) enum(_ []string) int64   { return int64(w.Uint()) }

func (w *wire) base64(dst []byte) (text []byte, ok bool) {
	return base64.StdEncoding.AppendEncode(dst, w.Bytes()), true
}

func (w *wire) id(dst []byte) (ok bool) {
	b := w.Bytes()
	if ok = len(b) == len(dst); ok {
		copy(dst, b)
	} else {
		clear(dst)
	}
	return ok || len(b) == 0
}

func (w *wire) key() (key []byte) {
	at := *w
	for at.Skip(); at.Next(); at.Skip() {
		if at.Field == protobuf.KeyValueKey {
			return at.Bytes()
		}
	}
	return nil
}
