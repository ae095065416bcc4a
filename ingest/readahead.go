package ingest

import (
	"io"
	"os"
)

// How much is read ahead: buffers are allocated when they are first needed.
const (
	aheadBytes   = 128 << 10
	aheadBuffers = 4
)

// readAhead is a reader whose source is read by another goroutine, so that
// decompressing and parsing overlap. That goroutine ends with the source's first error,
// or when close is called.
type readAhead struct {
	filled  chan aheadBlock
	free    chan []byte // buffers, nil for one that has not been allocated
	closing chan struct{}
	count   func(stored int)

	// What follows is the reading goroutine's.
	block aheadBlock
	rest  []byte // of block
}

// aheadBlock is what was read at a time.
type aheadBlock struct {
	data   []byte
	stored int   // how many bytes of the file that took
	err    error // of the source, behind data
}

// newReadAhead starts to read src, the content of what stored reads. count is called
// in the goroutine that reads, with the bytes of the file that the content read takes.
func newReadAhead(src io.Reader, stored *countingReader, count func(stored int)) *readAhead {
	r := &readAhead{
		filled: make(chan aheadBlock, aheadBuffers), free: make(chan []byte, aheadBuffers),
		closing: make(chan struct{}), count: count,
	}
	for range aheadBuffers {
		r.free <- nil
	}
	go r.run(src, stored)
	return r
}

// run reads blocks until there is an error or r is closed.
func (r *readAhead) run(src io.Reader, stored *countingReader) {
	defer close(r.filled)
	for {
		var buf []byte
		select {
		case buf = <-r.free:
		case <-r.closing:
			return
		}
		if buf == nil {
			buf = make([]byte, aheadBytes)
		}
		before := stored.n
		n, err := readBlock(src, buf)
		// There is room, because there are no more blocks than buffers.
		r.filled <- aheadBlock{data: buf[:n], stored: int(stored.n - before), err: err}
		if err != nil {
			return
		}
	}
}

// readBlock fills buf, unless there is an error, which it returns as it is.
func readBlock(src io.Reader, buf []byte) (n int, err error) {
	const maxEmptyReads = 100
	for empty := 0; n < len(buf) && err == nil; {
		var m int
		m, err = src.Read(buf[n:])
		n += m
		if m > 0 {
			empty = 0
		} else if empty++; empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// Read implements io.Reader.
func (r *readAhead) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.block.err != nil {
			return 0, r.block.err
		}
		if r.block.data != nil {
			r.free <- r.block.data[:aheadBytes]
		}
		block, ok := <-r.filled
		if !ok {
			return 0, os.ErrClosed
		}
		r.block, r.rest = block, block.data
		if r.block.stored > 0 {
			r.count(r.block.stored)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// close ends reading. It returns once the source is no longer in use.
func (r *readAhead) close() {
	close(r.closing)
	for range r.filled {
	}
}
