package arrowtable

import "github.com/optrace/optrace/internal/arrowipc"

// layouts are those of the messages of a batch.
type layouts struct {
	records      *arrowipc.Layout
	dictionaries [numColumns]*arrowipc.Layout
	dims         *arrowipc.Layout
}

func newLayouts(c Compressor) *layouts {
	codec := arrowipc.Uncompressed
	if c != nil {
		codec = c.Codec()
	}
	m := &layouts{dims: arrowipc.DictionaryLayout(dimsID, 1, 2, codec)}
	nodes, buffers := 0, 0
	for i, f := range schema().Fields {
		if f.Dictionary == nil {
			n, b := parts(&f)
			nodes, buffers = nodes+n, buffers+b
			continue
		}
		n, b := parts(&f)
		m.dictionaries[i] = arrowipc.DictionaryLayout(int64(i), n, b, codec)
		nodes, buffers = nodes+1, buffers+2
	}
	m.records = arrowipc.RecordsLayout(nodes, buffers, codec)
	return m
}

// parts returns how many arrays and buffers the values of a field consist of.
func parts(f *arrowipc.Field) (nodes, buffers int) {
	nodes = 1
	switch f.Type.Kind {
	case arrowipc.Utf8:
		buffers = 3
	case arrowipc.Struct:
		buffers = 1
	default:
		buffers = 2
	}
	for i := range f.Children {
		n, b := parts(&f.Children[i])
		nodes, buffers = nodes+n, buffers+b
	}
	return nodes, buffers
}
