package arrow

import (
	"errors"
	"fmt"

	"github.com/optrace/optrace/internal/arrowipc"
)

// bodyReader takes the arrays of a message apart, in the order of the schema.
type bodyReader struct {
	batch        *arrowipc.Batch
	body         *body
	dictionaries *dictionaries
	unpack       *decompressor

	node, buffer, variadic int
	// present tells that no value of the next slice is null.
	present bool
}

var (
	errNodes   = errors.New("fewer arrays than the schema has")
	errBuffers = errors.New("fewer buffers than the schema asks for")
)

// want is how much of an array is read.
type want uint8

const (
	nothing want = iota
	nulls        // which values are null
	everything
)

// read returns the next array, as far as it is wanted.
func (r *bodyReader) read(f *arrowipc.Field, wanted want) (a array, err error) {
	if r.node >= len(r.batch.Nodes) {
		return a, errNodes
	}
	node := r.batch.Nodes[r.node]
	r.node++
	// Some values take no space, so that a few bytes may claim any number of them.
	if most := freeValues + maxValuesPerByte*r.body.size(); node.Length < 0 || node.Length > most || node.Nulls < 0 {
		return a, fmt.Errorf("array of %d values in a message of %d bytes", node.Length, r.body.size())
	}
	a = array{field: f, n: int(node.Length), nulls: node.Nulls}
	kind := f.Type.Kind
	if f.Dictionary != nil {
		if wanted == everything {
			a.dictionary = r.dictionaries.find(f.Dictionary.ID)
		}
		return a, r.buffers(&a, wanted, validity, fixed(f.Dictionary.Index.Bits))
	}
	switch kind {
	case arrowipc.Null, arrowipc.RunEndEncoded:
	case arrowipc.Union:
		err = r.buffers(&a, nothing, fixed(8))
		if err == nil && f.Type.Dense {
			err = r.buffers(&a, nothing, fixed(32))
		}
	case arrowipc.Struct, arrowipc.FixedSizeList:
		err = r.buffers(&a, wanted, validity)
	case arrowipc.Utf8, arrowipc.Binary, arrowipc.LargeUtf8, arrowipc.LargeBinary:
		a.wide = kind == arrowipc.LargeUtf8 || kind == arrowipc.LargeBinary
		err = r.buffers(&a, wanted, validity, offsets, values)
	case arrowipc.Utf8View, arrowipc.BinaryView:
		if err = r.buffers(&a, wanted, validity, fixed(128)); err == nil {
			err = r.views(&a, wanted)
		}
	case arrowipc.List, arrowipc.Map, arrowipc.LargeList:
		a.wide = kind == arrowipc.LargeList
		err = r.buffers(&a, wanted, validity, offsets)
	case arrowipc.ListView, arrowipc.LargeListView:
		a.wide = kind == arrowipc.LargeListView
		err = r.buffers(&a, wanted, validity, starts, lengths)
	case arrowipc.Bool:
		err = r.buffers(&a, wanted, validity, fixed(1))
	case arrowipc.FixedSizeBinary:
		err = r.buffers(&a, wanted, validity, fixed(8*f.Type.Size))
	default:
		err = r.buffers(&a, wanted, validity, fixed(f.Type.Bits))
	}
	return a, r.readChildren(&a, wanted, err)
}

func (r *bodyReader) readChildren(a *array, wanted want, err error) error {
	if err != nil {
		return err
	}
	children := a.field.Children
	if wanted == nulls {
		wanted = nothing
	}
	if wanted == everything {
		a.children = make([]array, len(children))
	}
	for i := range children {
		child, err := r.read(&children[i], wanted)
		if err != nil {
			return err
		}
		if wanted == everything {
			a.children[i] = child
		}
		if a.field.Type.Kind == arrowipc.Struct && child.n < a.n ||
			a.field.Type.Kind == arrowipc.FixedSizeList && int64(child.n) < int64(a.n)*int64(a.field.Type.Size) {
			return fmt.Errorf("%q has fewer values than what it is a part of", children[i].Name)
		}
	}
	return nil
}

// role is what a buffer holds.
type role struct {
	of   roleOf
	bits int // of a value
}

type roleOf uint8

const (
	ofValidity roleOf = iota
	ofOffsets         // one more than values
	ofStarts
	ofLengths
	ofValues // of any length
	ofFixed
)

var (
	validity = role{of: ofValidity}
	offsets  = role{of: ofOffsets}
	starts   = role{of: ofStarts}
	lengths  = role{of: ofLengths}
	values   = role{of: ofValues}
)

func fixed(bits int) role { return role{ofFixed, bits} }

// buffers reads the next buffers.
func (r *bodyReader) buffers(a *array, wanted want, roles ...role) error {
	for _, role := range roles {
		if r.buffer >= len(r.batch.Buffers) {
			return errBuffers
		}
		at := r.batch.Buffers[r.buffer]
		r.buffer++
		if wanted == nothing || wanted == nulls && (role.of != ofValidity || a.allNull() || a.nulls == 0) {
			continue
		}
		data, err := r.bytes(at)
		if err != nil {
			return err
		}
		if err := role.set(a, data); err != nil {
			return err
		}
	}
	return nil
}

// set makes data the buffer of an array, if it is long enough.
func (r role) set(a *array, data []byte) error {
	word := 4
	if a.wide {
		word = 8
	}
	n := a.n
	var need int
	switch r.of {
	case ofValidity:
		if len(data) == 0 { // all are there, or all are null where it is said so
			if a.nulls > 0 && a.nulls < int64(n) {
				return errors.New("nulls without a bitmap")
			}
			return nil
		}
		a.valid, need = data, (n+7)/8
		if a.nulls == 0 {
			a.valid = nil
		}
	case ofOffsets:
		if n == 0 {
			return nil
		}
		a.offsets, need = data, word*(n+1)
	case ofStarts:
		a.offsets, need = data, word*n
	case ofLengths:
		a.sizes, need = data, word*n
	case ofValues:
		a.data = data
	case ofFixed:
		a.data, need = data, (n*r.bits+7)/8
	}
	if len(data) < need {
		return fmt.Errorf("buffer of %d bytes where %d values take %d", len(data), n, need)
	}
	return nil
}

// views reads the buffers that views refer to.
func (r *bodyReader) views(a *array, wanted want) error {
	if r.variadic >= len(r.batch.Variadic) {
		return errBuffers
	}
	n := r.batch.Variadic[r.variadic]
	r.variadic++
	if n < 0 || n > int64(len(r.batch.Buffers)-r.buffer) {
		return errBuffers
	}
	for range n {
		at := r.batch.Buffers[r.buffer]
		r.buffer++
		if wanted != everything {
			continue
		}
		data, err := r.bytes(at)
		if err != nil {
			return err
		}
		a.texts = append(a.texts, data)
	}
	return nil
}

// bytes returns a buffer, decompressed.
func (r *bodyReader) bytes(at arrowipc.Span) ([]byte, error) {
	if at.Length == 0 {
		return nil, nil
	}
	if size := r.body.size(); at.Offset < 0 || at.Length < 0 || at.Offset > size || at.Length > size-at.Offset {
		return nil, errors.New("buffer that is not within the message")
	}
	data, err := r.body.part(at.Offset, at.Length)
	if err != nil || r.batch.Compression == arrowipc.Uncompressed {
		return data, err
	}
	return r.unpack.decompress(r.batch.Compression, data)
}
