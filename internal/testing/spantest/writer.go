package spantest

import (
	"bytes"
	"slices"
	"sync"
)

// Buffer keeps what is written to it, write by write. It is safe for concurrent
// use: a test may read it while an exporter writes.
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

// Bytes returns everything that was written.
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

// WriterFunc is a function that is a writer.
type WriterFunc func(p []byte) (int, error)

// Write calls f.
func (f WriterFunc) Write(p []byte) (int, error) { return f(p) }

// StuckWriter blocks in Write until it is released.
type StuckWriter struct {
	Buffer
	released chan struct{}
}

// NewStuckWriter returns a writer that blocks.
func NewStuckWriter() *StuckWriter { return &StuckWriter{released: make(chan struct{})} }

// Write appends p as soon as the writer is released.
func (w *StuckWriter) Write(p []byte) (int, error) {
	<-w.released
	return w.Buffer.Write(p)
}

// Release lets all writes go on. It may be called once.
func (w *StuckWriter) Release() { close(w.released) }

// FaultyWriter fails in its first write; later ones succeed.
type FaultyWriter struct {
	Buffer
	// N is how many bytes of the first write are taken.
	N int
	// Fault returns what a failing write that took n bytes returns. It may panic.
	Fault func(n int) (int, error)
	// Broken makes all writes fail, of which those after the first take nothing.
	Broken bool

	failed bool
}

// Write takes p, or the beginning of p, as the fields say.
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
