package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/producer"
)

// producer returns a process with a format, a compression, a limit of size, a
// batch and a way of recording of random choice, which writes to a file in dir.
func (c *campaign) producer(dir string) producer.Producer {
	formats := []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto}
	p := producer.Producer{
		Path:   filepath.Join(dir, "ops.x"),
		Format: formats[c.rng.IntN(len(formats))],
		Policy: optrace.PolicyBlock,
		Batch:  1 + c.rng.IntN(2000),
		Way:    producer.Ways()[c.rng.IntN(len(producer.Ways()))],
	}
	if p.Way == producer.FlightRecorder {
		p.Format = optrace.FormatEntries // the only one that it writes
	}
	packed := []optrace.Compression{optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd}
	p.Compression = packed[c.rng.IntN(len(packed))]
	if c.rng.IntN(2) == 0 {
		p.MaxBytes = 50_000 + c.rng.Int64N(400_000)
	}
	return p
}

func (c *campaign) pause(most time.Duration) {
	time.Sleep(time.Duration(c.rng.Int64N(int64(most))))
}

// wait waits for a process and enters what it told.
func (r *round) wait(p *producer.Process) (producer.Told, error) {
	told, err := p.Wait()
	r.recorded += told.Recorded
	r.written += told.Written
	r.lost += told.Dropped
	return told, err
}

// find reads the files in dir. None of them may be unreadable, and no operation may
// be there twice.
func (r *round) find(dir string) (*producer.Found, error) {
	found, err := producer.Find(dir)
	if err != nil {
		return nil, err
	}
	r.unread += found.Malformed
	for _, err := range found.Unreadable {
		r.breaks("a file cannot be read: %v", err)
	}
	if n := found.Repeated(); n > 0 {
		r.breaks("%d operations are there more than once", n)
	}
	return found, nil
}

// expect checks that what a process said was safe is there.
func (r *round) expect(found *producer.Found, p producer.Producer, told producer.Told) {
	if lost := found.Lost(p.Run, told.Written); lost > 0 {
		r.missing += lost
		r.breaks("%v %v %v: %d of %d safe operations of process %d are missing", p.Format, p.Compression, p.Way, lost, told.Written, p.Run)
	}
}

type group struct {
	all     []producer.Producer
	running []*producer.Process
}

// start starts p as another process of the group, for a time, 0 until it is killed.
func (g *group) start(ctx context.Context, p producer.Producer, d time.Duration) (*producer.Process, error) {
	p.Run, p.For = int64(len(g.all)), d
	process, err := p.Start(ctx)
	g.all, g.running = append(g.all, p), append(g.running, process)
	return process, err
}

// expect waits for the processes and checks that what they said was safe is there.
func (g *group) expect(r *round) (*producer.Found, error) {
	told := make([]producer.Told, len(g.running))
	for i, process := range g.running {
		var err error
		if told[i], err = r.wait(process); err != nil {
			r.breaks("%v", err)
		}
	}
	found, err := r.find(r.dir)
	if err != nil {
		return nil, err
	}
	for i, p := range g.all {
		r.expect(found, p, told[i])
	}
	return found, nil
}

// kills lets a process write beside others that are killed.
func kills(ctx context.Context, c *campaign, r *round) error {
	p, g := c.producer(r.dir), new(group)
	if _, err := g.start(ctx, p, time.Second); err != nil {
		return err
	}
	for range 1 + c.rng.IntN(5) {
		process, err := g.start(ctx, p, 0)
		if err != nil {
			return err
		}
		c.pause(400 * time.Millisecond)
		if err := process.Kill(); err != nil {
			return err
		}
		r.faults++
	}
	found, err := g.expect(r)
	if err == nil && found.Malformed > r.faults {
		r.breaks("%v %v %v: %d records cannot be read after %d kills", p.Format, p.Compression, p.Way, found.Malformed, r.faults)
	}
	return err
}

// moves renames the file while two processes write to it.
func moves(ctx context.Context, c *campaign, r *round) error {
	p, g := c.producer(r.dir), new(group)
	for range 2 {
		if _, err := g.start(ctx, p, time.Second); err != nil {
			return err
		}
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); c.pause(50 * time.Millisecond) {
		if os.Rename(p.Path, p.Path+".moved"+strconv.Itoa(r.faults)) == nil {
			r.faults++
		}
	}
	found, err := g.expect(r)
	if err == nil && found.Malformed > 0 {
		r.breaks("%v %v %v: %d records cannot be read", p.Format, p.Compression, p.Way, found.Malformed)
	}
	return err
}

// removals removes or empties the file while a process writes to it. What it held is
// gone; what comes next must be readable.
func removals(ctx context.Context, c *campaign, r *round) error {
	p := c.producer(r.dir)
	p.For, p.Pause, p.MayLose = time.Second, 2*time.Millisecond, true
	process, err := p.Start(ctx)
	if err != nil {
		return err
	}
	for end := time.Now().Add(p.For - 100*time.Millisecond); time.Now().Before(end); c.pause(100 * time.Millisecond) {
		if c.remove(p.Path) == nil {
			r.faults++
		}
	}
	told, err := r.wait(process)
	if err != nil {
		r.breaks("%v", err)
	}
	r.balance(told)
	return c.again(ctx, r, p, r.dir)
}

func (c *campaign) remove(path string) error {
	if c.rng.IntN(2) == 0 {
		return os.Remove(path)
	}
	return os.Truncate(path, 0)
}

// balance checks the counts of a process that has ended.
func (r *round) balance(told producer.Told) {
	if told.Recorded != told.Written+told.Dropped {
		r.breaks("recorded %d, written %d, dropped %d", told.Recorded, told.Written, told.Dropped)
	}
}

// again starts another process on the same file: it must be able to write, and all
// of its operations must be there.
func (c *campaign) again(ctx context.Context, r *round, p producer.Producer, dir string) error {
	p.Run, p.For, p.MaxFile, p.MayLose, p.Batch = p.Run+1, 100*time.Millisecond, 0, false, 50
	process, err := p.Start(ctx)
	if err != nil {
		return err
	}
	told, err := r.wait(process)
	if err != nil {
		r.breaks("%v %v %v: the next process: %v", p.Format, p.Compression, p.Way, err)
	}
	r.balance(told)
	found, err := r.find(dir)
	if err != nil {
		return err
	}
	r.expect(found, p, told)
	return nil
}
