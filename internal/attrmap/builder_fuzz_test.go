package attrmap_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// script derives the calls of a fuzz test from the fuzzer's bytes.
type script struct{ data []byte }

func (s *script) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	c := s.data[0]
	s.data = s.data[1:]
	return c
}

func (s *script) take(n int) []byte {
	n = min(n, len(s.data))
	taken := s.data[:n]
	s.data = s.data[n:]
	return taken
}

func (s *script) int() int64 {
	var b [8]byte
	copy(b[:], s.take(1<<(s.byte()%4)))
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (s *script) text() string { return string(s.take(int(s.byte() % 40))) }

var fuzzKeys = []string{
	attrkey.Name, attrkey.Kind, attrkey.Path, attrkey.FLOPs, attrkey.Side, attrkey.InputShapes, attrkey.InputDTypes, attrkey.OutputShape,
	attrkey.OutputElements, attrkey.DType, attrkey.Device, attrkey.Stream, attrkey.Step, attrkey.Memory, attrkey.Collective, attrkey.Group,
	attrkey.GroupSize, attrkey.Sequence, attrkey.PeerRank, attrkey.InElements, attrkey.OutElements, attrkey.Rank, attrkey.WorldSize,
	attrkey.InputShape(0), attrkey.InputShape(2), "pytorch.input_shapes", "pytorch.input_dtypes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.cpu_memory_usage_bytes", "pytorch.device_memory_usage_bytes", "pytorch.flops",
	"op", "device", "input_shapes", "output_shape", "memory_bytes", "step", "kept", "aliased", "",
}

// attribute adds one attribute. Lists may be left open or closed too often.
func (s *script) attribute(b *attrmap.Builder) {
	key := fuzzKeys[int(s.byte())%len(fuzzKeys)]
	switch s.byte() % 6 {
	case 0:
		b.Str(key, s.text())
	case 1:
		b.Int(key, s.int())
	case 2:
		b.Float(key, math.Float64frombits(uint64(s.int())))
	case 3:
		b.Bool(key, true)
	case 4:
		b.Other(key)
	default:
		l := b.BeginList(key)
		for range s.byte() % 12 {
			switch s.byte() % 8 {
			case 0:
				l.Str(s.text())
			case 1:
				l.Float(float64(s.int()))
			case 2:
				l.Other()
			case 3:
				l.Begin()
			case 4:
				l.End()
			default:
				l.Int(s.int())
			}
		}
		if s.byte()%8 != 0 {
			l.End()
		}
	}
}

// Whatever the attributes, the Builder makes a valid entry that a file gives
// back, and a second span owes nothing to the first.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte("\x00\x00\x06matmul\x05\x05\x04\x03\x05\x02\x05\x03\x04"), []byte("\x00\x00\x04relu"))
	f.Add([]byte("\x05\x00\x10[[2,3],[4,5],[]]\x07\x05\x02\x05\x01\x07\x05\x02\x07"), []byte{})
	f.Add([]byte("\x19\x00\x0c[[64, 784]]\x1b\x00\x04CUDA\x1c\x01\x01"), []byte("\x17\x00\x032x3\x18\x00\x014"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m := &attrmap.Mapping{}
		m.Keep("kept")
		m.Alias("aliased", attrkey.InputShapes)
		span := func(b *attrmap.Builder, data []byte) (*op.Entry, bool) {
			s := script{data}
			b.Reset()
			b.SetName(s.text())
			b.SetTime(op.Known(s.int()), s.int())
			b.SetTraceState("ot=th:" + s.text())
			b.SetResource(&op.Resource{Service: s.text()})
			for len(s.data) > 0 {
				s.attribute(b)
			}
			return b.Entry()
		}
		b := attrmap.NewBuilder(m)
		if e, ok := span(b, first); ok {
			checkBuilt(t, e)
		}
		reused, ok := span(b, second)
		fresh, freshOK := span(attrmap.NewBuilder(m), second)
		if diff := cmp.Diff(fresh, reused); ok != freshOK || diff != "" {
			t.Fatalf("a used Builder differs (-fresh +used):\n%s", diff)
		}
	})
}

func checkBuilt(t *testing.T, e *op.Entry) {
	t.Helper()
	check.OK(t, e.Validate())
	line := e.AppendJSON(nil)
	rec, err := entries.DecodeLine(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	want := e.Clone()
	if want.Kind != op.KindCollective {
		want.KindRule = rec.Entry.KindRule // files keep it for collectives only
	}
	if diff := cmp.Diff(want, rec.Entry); diff != "" {
		t.Fatalf("%s read back (-want +got):\n%s", line, diff)
	}
}
