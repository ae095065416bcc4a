package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/optrace/optrace/internal/producer"
)

// limits lets a process write to a file that may not grow beyond a size, and makes
// room meanwhile.
func limits(ctx context.Context, c *campaign, r *round) error {
	if runtime.GOOS != "linux" {
		r.skipped = "needs Linux"
		return nil
	}
	dir := filepath.Join(r.dir, "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p := c.producer(dir)
	p.MaxFile = 20_000 + uint64(c.rng.IntN(300_000))
	if p.MaxBytes > 0 {
		p.MaxBytes = int64(p.MaxFile) * 2 // so that rotation does not make room first
	}
	return c.withoutRoom(ctx, r, p, dir)
}

// disks lets a process fill a small file system, and makes room meanwhile.
func disks(ctx context.Context, c *campaign, r *round) (err error) {
	disk := filepath.Join(r.dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return err
	}
	if err := mount(disk); err != nil {
		r.skipped = "no small file system may be mounted: " + err.Error()
		return os.RemoveAll(disk)
	}
	defer func() { err = errors.Join(err, unmount(disk)) }()
	p := c.producer(disk)
	p.MaxBytes = 0
	return c.withoutRoom(ctx, r, p, disk)
}

// withoutRoom starts p, which runs out of room in dir, and makes room: by moving the
// file out of the way, or by removing or emptying it. Where files were only moved,
// as many operations are there as the process counts as written, or more: the
// beginning of a batch whose rest found no room counts as dropped, and a reader may
// still make something of it.
func (c *campaign) withoutRoom(ctx context.Context, r *round, p producer.Producer, dir string) error {
	p.For, p.Pause, p.Batch, p.MayLose = 2*time.Second, 5*time.Millisecond, 1+c.rng.IntN(500), true
	process, err := p.Start(ctx)
	if err != nil {
		return err
	}
	aside, err := os.MkdirTemp(r.dir, "aside-")
	if err != nil {
		return err
	}
	moving := c.rng.IntN(2) == 0
	for end := time.Now().Add(p.For - 200*time.Millisecond); time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
		c.pause(200 * time.Millisecond)
		if moving {
			err = move(p.Path, filepath.Join(aside, time.Now().Format("150405.000000")))
		} else {
			err = c.remove(p.Path)
		}
		if err == nil {
			r.faults++
		}
	}
	told, err := r.wait(process)
	if err != nil {
		r.breaks("%v %v %v: %v", p.Format, p.Compression, p.Way, err)
	}
	r.balance(told)
	if moving {
		found, err := r.find(aside)
		if err != nil {
			return err
		}
		rest, err := r.find(dir)
		if err != nil {
			return err
		}
		if n := found.Of(p.Run) + rest.Of(p.Run); n < told.Written || n > told.Recorded {
			r.missing += max(0, told.Written-n)
			r.breaks("%v %v %v: %d operations are there, %d count as written", p.Format, p.Compression, p.Way, n, told.Written)
		}
	}
	// Room for the next process.
	if err := move(p.Path, filepath.Join(aside, "last")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.again(ctx, r, p, dir)
}

// move moves a file, to another file system where need be.
func move(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	// The copy is taken once nobody finds the file under its name any more, so that
	// nothing is written behind the copy.
	hidden := from + ".moving"
	if err := os.Rename(from, hidden); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond) // for a write under way
	text, err := os.ReadFile(hidden)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	return errors.Join(err, os.Remove(hidden))
}
