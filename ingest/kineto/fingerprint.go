package kineto

import (
	"hash/fnv"
	"io"

	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/op"
)

// fingerprint returns a number that tells the trace from others: the same one for the same content, whatever file it
// lies in.
func (t *tables) fingerprint(base int64, rank op.Int) uint64 {
	names := fnv.New64a()
	for _, text := range t.symbols.Texts() {
		_, _ = io.WriteString(names, text) // does not fail
		_, _ = names.Write([]byte{0})
	}
	h := profiler.Fingerprint(names.Sum64())
	h.Add(uint64(base), uint64(rank.V))
	for i := range int32(t.hostOps.n) {
		o := t.hostOps.at(i)
		h.Add(uint64(o.start), uint64(o.dur))
		h.Add(uint64(o.thread)<<32|uint64(o.name), uint64(o.inputs)<<32|uint64(o.extra))
	}
	for i := range int32(t.deviceOps.n) {
		d := t.deviceOps.at(i)
		h.Add(uint64(d.start), uint64(d.dur))
		h.Add(uint64(d.correlation), uint64(d.name)<<32|uint64(uint32(d.device)))
		h.Add(uint64(d.bytes), uint64(d.process)<<32|uint64(uint32(d.stream)))
	}
	return uint64(h)
}
