package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/optrace/optrace/internal/units"
)

// progress shows on a terminal how much of the inputs has been read, once
// reading takes long.
type progress struct {
	w     io.Writer // nil for no output
	total int64     // of all inputs, 0 if not known
	read  int64
	next  time.Time
	shown bool
}

// The time after which progress is first shown, and that between two updates.
const (
	progressDelay    = time.Second
	progressInterval = 200 * time.Millisecond
)

// newProgress returns a progress that is shown if stderr is a terminal.
func newProgress(stderr io.Writer, inputs []string) *progress {
	p := &progress{next: time.Now().Add(progressDelay)}
	if !isTerminal(stderr) {
		return p
	}
	p.w = stderr
	for _, path := range inputs {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			p.total = 0
			break
		}
		p.total += info.Size()
	}
	return p
}

// add counts n more bytes.
func (p *progress) add(n int) {
	p.read += int64(n)
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressInterval), true
	text := "read " + units.Bytes(p.read)
	if p.total > 0 {
		text += " of " + units.Bytes(p.total) + ", " + units.Percent(float64(p.read)/float64(p.total))
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
}

// done clears the line.
func (p *progress) done() {
	if p.shown {
		clearProgress(p.w)
	}
}

// clearProgress clears the line that progress is shown on.
func clearProgress(stderr io.Writer) {
	if isTerminal(stderr) {
		fmt.Fprint(stderr, "\r\x1b[K")
	}
}
