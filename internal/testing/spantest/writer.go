package spantest

import (
	"bytes"
	"slices"
	"sync"
)

// Buffer keeps its writes. It is safe for concurrent use, so a test may read it during an export.
type Buffer struct {
	mu     sync.Mutex
	writes [][]byte
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, bytes.Clone(p))
	return len(p), nil
}

// Bytes returns all written bytes.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.writes...)
}

// Writes returns the number of writes.
func (b *Buffer) Writes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.writes)
}

// WriterFunc is a writer from a function.
type WriterFunc func(p []byte) (int, error)

// Write calls f.
func (f WriterFunc) Write(p []byte) (int, error) { return f(p) }

// StuckWriter blocks in Write until Release.
type StuckWriter struct {
	Buffer
	released chan struct{}
}

// NewStuckWriter returns a blocking writer.
func NewStuckWriter() *StuckWriter { return &StuckWriter{released: make(chan struct{})} }

// Write appends p after Release.
func (w *StuckWriter) Write(p []byte) (int, error) {
	<-w.released
	return w.Buffer.Write(p)
}

// Release lets all writes continue. Call it once.
func (w *StuckWriter) Release() { close(w.released) }

// FaultyWriter fails in its first write; later ones succeed.
type FaultyWriter struct {
	Buffer
	N int // counts the bytes of the first write to accept
	// Fault returns the results of a failing write of n bytes. It may panic.
	Fault func(n int) (int, error)
	// Broken makes later writes fail too, without accepting bytes.
	Broken bool

	failed bool
}

// Write accepts p or a part of it, as the fields say.
func (w *FaultyWriter) Write(p []byte) (int, error) {
	first := !w.failed
	if !first && !w.Broken {
		return w.Buffer.Write(p)
	}
	w.failed = true
	n := 0
	if first {
		n = min(w.N, len(p))
	}
	_, _ = w.Buffer.Write(p[:n])
	return w.Fault(n)
}
