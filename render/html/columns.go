package html

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/op"
)

// encode returns the columns in the order of the page's function decodeRows, compressed and in base64. Columns are
// compressed side by side: each is a part of one DEFLATE stream.
func (r *rows) encode(level int) string {
	var parts []*bytes.Buffer
	var side sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	all := func(value func(i int, one *row) uint64) {
		text := make([]byte, 0, len(r.list)*3/2)
		for i := range r.list {
			text = binary.AppendUvarint(text, value(i, &r.list[i]))
		}
		part := new(bytes.Buffer)
		parts = append(parts, part)
		running <- struct{}{}
		side.Go(func() {
			defer func() { <-running }()
			deflate, _ := flate.NewWriter(part, level) // the level is right
			_, _ = deflate.Write(text)                 // to memory
			_ = deflate.Flush()                        // ends at a byte
		})
	}
	column := func(value func(i int, one *row) uint64) { // of nodes
		all(func(i int, one *row) uint64 {
			if one.call != nil {
				return 0
			}
			return value(i, one)
		})
	}
	before := r.origin
	all(func(_ int, one *row) uint64 {
		d := one.start - before
		before = one.start
		return uint64(d)
	})
	all(func(_ int, one *row) uint64 { return uint64(one.duration) })
	all(func(_ int, one *row) uint64 { return protowire.EncodeZigZag(one.duration - one.self()) })
	all(func(_ int, one *row) uint64 { return uint64(r.name(one.label())) })
	all(func(_ int, one *row) uint64 { return one.kind() })
	column(func(_ int, one *row) uint64 {
		if !one.node.IsOp() {
			return 0
		}
		return uint64(r.devices.ID(one.node.Device()) + 1)
	})
	all(func(_ int, one *row) uint64 {
		if one.call != nil {
			return optional(one.call.Stream)
		}
		return optional(one.node.Stream())
	})
	column(func(i int, _ *row) uint64 {
		if p := r.rowOf(r.list[i].node.Parent()); p != none {
			return protowire.EncodeZigZag(int64(i)-int64(p)) + 1
		}
		return 0
	})
	column(r.requestCode)
	all(func(_ int, one *row) uint64 { return uint64(one.shape) })
	all(r.unlessUsual(func(one *row) int64 { return one.node.MemoryBytes() }))
	all(r.unlessUsual(func(one *row) int64 { return one.node.FLOPs() }))
	column(func(_ int, one *row) uint64 {
		if s := one.node.Step(); s.Known {
			return uint64(r.steps.ID(s.V)) + 1
		}
		return 0
	})
	column(func(_ int, one *row) uint64 {
		if at := one.node.Launch(); at.Known {
			return protowire.EncodeZigZag(one.start-at.V) + 1
		}
		return 0
	})
	column(func(_ int, one *row) uint64 {
		f := one.node.Forest
		at := one.node.Row
		return uint64(f.Launched(at) - f.Launch(at))
	})
	all(func(_ int, one *row) uint64 { return uint64(one.collective) })
	column(func(i int, _ *row) uint64 {
		if p := r.launcherOf(i); p != none {
			return protowire.EncodeZigZag(int64(i)-int64(p)) + 1
		}
		return 0
	})
	all(r.unlessUsual(func(one *row) int64 {
		if one.call != nil {
			return 0
		}
		return int64(r.arguments.Within(maxArguments, one.node.Arguments(), ""))
	}))
	column(func(i int, _ *row) uint64 {
		if name := r.launcherName(i); name != "" {
			return uint64(r.name(name)) + 1
		}
		return 0
	})
	column(func(_ int, one *row) uint64 { return r.errorCode(one.node) })
	all(r.threadCode)
	side.Wait()
	var text strings.Builder
	encoded := base64.NewEncoder(base64.StdEncoding, &text)
	for _, p := range parts {
		_, _ = p.WriteTo(encoded)
	}
	_, _ = encoded.Write(lastBlock)
	_ = encoded.Close()
	return text.String()
}

// lastBlock is an empty last block, which ends a DEFLATE stream.
var lastBlock = []byte{3, 0}

// requestCode returns 0 for no request, 1 for the request of an earlier parent row, else the number plus two.
func (r *rows) requestCode(i int, one *row) uint64 {
	q := r.request[one.node.Index()]
	if q == none {
		return 0
	}
	if p := r.rowOf(r.list[i].node.Parent()); p != none && int(p) < i && r.request[r.list[p].node.Index()] == q {
		return 1
	}
	return uint64(q) + 2
}

// unlessUsual encodes a quantity that is usually equal for rows of one name and shape: 0 for the value of the row
// before, else the value plus one. The initial value is 0, unknown.
func (r *rows) unlessUsual(value func(one *row) int64) func(i int, one *row) uint64 {
	type key struct {
		name, shape int32
	}
	last := make(map[key]int64)
	return func(_ int, one *row) uint64 {
		k := key{r.name(one.label()), one.shape}
		v := max(0, value(one))
		if last[k] == v {
			return 0
		}
		last[k] = v
		return uint64(v) + 1
	}
}

// optional returns the code of an optional number. Negative numbers count as unknown, because the page does not use
// them.
func optional(v op.Int) uint64 {
	if !v.Known || v.V < 0 {
		return 0
	}
	return uint64(v.V) + 1
}
