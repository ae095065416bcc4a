package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// Sizes of the shards of item vectors.
const (
	shards     = 8
	shardItems = 2000
)

// vectors holds the vectors of all items in shards. It unpacks a shard on first use. It is safe for concurrent use.
type vectors struct {
	ops    *optrace.Tracer
	packed [shards][]byte

	mu     sync.Mutex
	shards [shards][]float64
}

// newVectors makes random vectors.
func newVectors(ops *optrace.Tracer) (*vectors, error) {
	v := &vectors{ops: ops}
	r := rand.New(rand.NewPCG(4, 5))
	for i := range v.packed {
		values := make([]float64, shardItems*features)
		for j := range values {
			values[j] = float64(r.IntN(256)-128) / 64 // eight bits are enough
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if err := binary.Write(w, binary.LittleEndian, values); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		v.packed[i] = packed.Bytes()
	}
	return v, nil
}

// of returns the vector of an item, for reading only.
func (v *vectors) of(ctx context.Context, item int) ([]float64, error) {
	shard := item / shardItems
	at := item % shardItems * features
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shards[shard] == nil {
		values, err := v.unpack(ctx, shard)
		if err != nil {
			return nil, err
		}
		v.shards[shard] = values
	}
	return v.shards[shard][at : at+features], nil
}

// unpack makes the first request of a shard slow.
func (v *vectors) unpack(ctx context.Context, shard int) (values []float64, err error) {
	_, o := v.ops.Start(ctx, "unpack", device)
	defer func() { o.Out(shardItems, features).DType(op.F64).Kind(op.KindIO).Err(err).End() }()
	r, err := gzip.NewReader(bytes.NewReader(v.packed[shard]))
	if err != nil {
		return nil, fmt.Errorf("unpacking shard %d: %w", shard, err)
	}
	values = make([]float64, shardItems*features)
	if err := binary.Read(r, binary.LittleEndian, values); err != nil {
		return nil, fmt.Errorf("unpacking shard %d: %w", shard, err)
	}
	return values, nil
}
