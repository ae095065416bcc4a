package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/bench/measure"
)

// The most that reading a file may take. The limit of time is there for readers that
// do not end; the default limit of memory is a gibibyte, and a process has some more.
const (
	mostTime   = 3 * time.Minute
	mostMemory = 3 << 29
)

// report runs optrace report on a file, and returns how many operations it found.
func (c *campaign) report(ctx context.Context, r *round, path string, args ...string) (operations int64, refused bool) {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	// A process that takes twice what it may is killed, so that the machine survives.
	s, out, err := measure.CommandRSS(ctx, 1, 2*mostMemory, c.program, append(append([]string{"report", "-json"}, args...), path)...)
	r.most = max(r.most, s.RSS)
	if r.most > mostMemory {
		r.breaks("%s takes %d MB", filepath.Base(path), r.most>>20)
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
	case errors.As(err, &exit) && (exit.ExitCode() == 3 || exit.ExitCode() == 1):
		return 0, true // bad input, clearly said
	default:
		r.breaks("%s: %v", filepath.Base(path), err)
		return 0, true
	}
	var report struct {
		Entries int64 `json:"entries"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		r.breaks("%s: the report cannot be read: %v", filepath.Base(path), err)
	}
	return report.Entries, false
}

// damage lets a process write a file, damages it, and reads it.
func damage(ctx context.Context, c *campaign, r *round) error {
	p := c.producer(r.dir)
	p.For, p.MaxBytes, p.Batch = 50*time.Millisecond, 0, 1+c.rng.IntN(200)
	process, err := p.Start(ctx)
	if err != nil {
		return err
	}
	told, err := r.wait(process)
	if err != nil {
		r.breaks("%v", err)
	}
	whole, err := os.ReadFile(p.Path)
	if err != nil {
		return err
	}
	for range 20 {
		text := c.damaged(whole)
		path := filepath.Join(r.dir, "damaged")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		r.faults++
		n, refused := c.report(ctx, r, path)
		if refused {
			r.unread++
		}
		if n > told.Written {
			r.breaks("%v %v: %d operations, %d were written", p.Format, p.Compression, n, told.Written)
		}
		if len(r.broken) > 0 {
			return nil // the file stays
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// damaged returns text with a damage somewhere, more often near its start.
func (c *campaign) damaged(text []byte) []byte {
	n := len(text)
	at := c.rng.IntN(n)
	if c.rng.IntN(2) == 0 {
		at = int(math.Exp(c.rng.Float64()*math.Log(float64(n)))) - 1
	}
	length := min(1+c.rng.IntN(1+c.rng.IntN(5000)), n-at)
	damaged := bytes.Clone(text)
	switch c.rng.IntN(5) {
	case 0:
		damaged[at] ^= 1 << c.rng.IntN(8)
	case 1:
		damaged = damaged[:at]
	case 2:
		damaged = append(damaged[:at], text[at+length:]...)
	case 3:
		clear(damaged[at : at+length])
	default:
		damaged = append(append(damaged[:at], bytes.Repeat([]byte{byte(c.rng.Uint32())}, length)...), text[at:]...)
	}
	return damaged
}

// units are texts that make a bomb when they are repeated, and what stands around them.
var units = []struct{ before, unit, after string }{
	{"", "\n", ""},
	{"", "{\n", ""},
	{"", "[", ""},
	{"", "\x00", ""},
	{`{"resourceSpans":[{"scopeSpans":[{"spans":[`, "{},", "{}]}]}]}"},
	{`{"data":[{"traceID":"1","spans":[`, "{},", "{}]}]}"},
	{`{"entries":[`, `{"step":1,"operation":"a","device_id":null,"duration_us":1},`, `{"step":1,"operation":"a","duration_us":1}]}`},
	{"", `{"operation":"a","duration_ns":1,"start_unix_ns":1}` + "\n", ""},
	{`{"traceEvents":[`, `{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1},`, `{}]}`},
	{"[", `{"cat":"Node","ph":"X","name":"a","ts":1,"dur":1},`, `{}]`},
	{"PAR1", "\x00", "PAR1"},
	{"", "\x0a\x00", ""},
}

func bombs(ctx context.Context, c *campaign, r *round) error {
	u := units[c.rng.IntN(len(units))]
	size := 16 << c.rng.IntN(6) << 20 // up to half a gibibyte
	path := filepath.Join(r.dir, "bomb")
	if err := writeBomb(path, u.before, u.unit, u.after, size, c.rng.IntN(2) == 0); err != nil {
		return err
	}
	r.faults++
	var args []string
	if c.rng.IntN(2) == 0 {
		args = []string{"-section", "summary"}
	}
	if _, refused := c.report(ctx, r, path, args...); refused {
		r.unread++
	}
	if len(r.broken) > 0 {
		r.breaks("%d MB of %q behind %q, %q", size>>20, u.unit, u.before, args)
	}
	return nil
}

// writeBomb writes unit, repeated until it has size bytes, compressed.
func writeBomb(path, before, unit, after string, size int, gz bool) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var z io.WriteCloser = gzip.NewWriter(f)
	if !gz {
		if z, err = zstd.NewWriter(f); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(z, before); err != nil {
		return err
	}
	many := bytes.Repeat([]byte(unit), max(1, (1<<20)/len(unit)))
	for n := 0; n < size; n += len(many) {
		if _, err := z.Write(many); err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(z, after)
	return errors.Join(err, z.Close())
}
