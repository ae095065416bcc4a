package input

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/text/units"
)

// progress shows the amount of input read on a terminal, if reading takes long.
type progress struct {
	w           io.Writer // nil for no output
	total       int64     // of all inputs, 0 if not known
	read        int64
	start, next time.Time
	shown       bool
}

// The delay of the first progress and the interval of updates.
const (
	progressDelay    = time.Second
	progressInterval = 200 * time.Millisecond
)

func newProgress(stderr io.Writer, inputs []string) *progress {
	now := time.Now()
	p := &progress{start: now, next: now.Add(progressDelay)}
	if !streams.IsTerminal(stderr) {
		return p
	}
	p.w = stderr
	p.total = sizeOf(inputs)
	return p
}

// sizeOf returns the size of all input files, 0 if it is unknown.
func sizeOf(inputs []string) int64 {
	total := int64(0)
	for _, path := range inputs {
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := os.Stat(name)
			if err == nil && info.Mode().IsRegular() {
				total += info.Size()
			} else if name == path {
				return fs.ErrInvalid // a pipe has no size
			}
			return nil
		})
		if err != nil {
			return 0
		}
	}
	return total
}

func (p *progress) add(n int) {
	p.read += int64(n)
	if p.w == nil {
		return
	}
	now := time.Now()
	all := p.read >= p.total && p.total > 0
	if now.Before(p.next) && (!all || now.Sub(p.start) < progressDelay) {
		return
	}
	p.next = now.Add(progressInterval)
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.text(now.Sub(p.start)))
}

// text describes the progress in fewer than 60 columns.
func (p *progress) text(in time.Duration) string {
	text := "read " + units.Bytes(p.read)
	if p.read == p.total {
		return text + ", 100 %, now analysing"
	}
	if p.total >= p.read && p.total > 0 {
		text += " of " + units.Bytes(p.total) + ", " + units.Percent(float64(p.read)/float64(p.total))
	}
	if in > 0 {
		text += ", " + units.BytesPerSecond(float64(p.read)/in.Seconds())
	}
	return text
}

func (p *progress) done() {
	if p.shown {
		streams.ClearLine(p.w)
	}
}
