package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/optrace/optrace/bench/measure"
)

// atOnce runs commands at the same time and returns the processor time of all. command returns
// the program and the arguments of the i-th.
func atOnce(ctx context.Context, n int, command func(i int) []string) (time.Duration, error) {
	type ended struct {
		cpu time.Duration
		err error
	}
	done := make(chan ended)
	for i := range n {
		go func() {
			args := command(i)
			s, _, err := measure.Command(ctx, 1, args[0], args[1:]...)
			done <- ended{s.CPU, err}
		}()
	}
	var cpu time.Duration
	var errs []error
	for range n {
		e := <-done
		cpu += e.cpu
		errs = append(errs, e.err)
	}
	return cpu, errors.Join(errs...)
}

// path returns the path of a file that is not there.
func (b *bench) path(name string) string {
	b.files++
	return filepath.Join(b.dir, strconv.Itoa(b.files)+"-"+name)
}

// sizes returns the size of files together.
func sizes(paths []string) (n int64, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}

// record lets processes record operations and returns their files.
func (b *bench) record(ctx context.Context, ops int64, processes int) (files []string, cpu time.Duration, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	for range processes {
		files = append(files, b.path("ops.jsonl.zst"))
	}
	cpu, err = atOnce(ctx, processes, func(i int) []string {
		return []string{program, writerMode, strconv.FormatInt(ops/int64(processes), 10), strconv.Itoa(i), files[i]}
	})
	return files, cpu, err
}

func (b *bench) runProcesses(ctx context.Context, ops int64, processes int) (cost, error) {
	files, cpu, err := b.record(ctx, ops, processes)
	if err != nil {
		return cost{}, err
	}
	size, err := sizes(files)
	if err == nil {
		err = b.check(ctx, ops/int64(processes)*int64(processes), files...)
	}
	return cost{cpu: cpu, out: size}, errors.Join(err, remove(files))
}

func remove(files []string) (err error) {
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

// check fails unless the files have so many operations.
func (b *bench) check(ctx context.Context, ops int64, files ...string) error {
	_, _, err := b.report(ctx, ops, files)
	return err
}

// report makes the report of files, which must have so many operations.
func (b *bench) report(ctx context.Context, ops int64, files []string) (time.Duration, int64, error) {
	s, out, err := measure.Command(ctx, 1, b.optrace, append([]string{"report", "-json", "-section", "summary"}, files...)...)
	if err != nil {
		return 0, 0, err
	}
	var r struct{ Total struct{ Count int64 } }
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, 0, err
	}
	if r.Total.Count != ops {
		return 0, 0, fmt.Errorf("there are %d operations in %d files, want %d", r.Total.Count, len(files), ops)
	}
	return s.CPU, int64(len(out)), nil
}

func (b *bench) runProfiles(ctx context.Context, ops int64, processes int) (cost, error) {
	files, _, err := b.record(ctx, ops, processes)
	if err != nil {
		return cost{}, err
	}
	c, profiles, err := b.profiles(ctx, files)
	return c, errors.Join(err, remove(files), remove(profiles))
}

// profiles converts each file to a profile.
func (b *bench) profiles(ctx context.Context, files []string) (c cost, profiles []string, err error) {
	for range files {
		profiles = append(profiles, b.path("profile.jsonl"))
	}
	c.cpu, err = atOnce(ctx, len(files), func(i int) []string {
		return []string{b.optrace, "convert", "-to", "profile", "-o", profiles[i], files[i]}
	})
	if err != nil {
		return c, nil, err
	}
	if c.in, err = sizes(files); err != nil {
		return c, profiles, err
	}
	c.out, err = sizes(profiles)
	return c, profiles, err
}

// runMerge reports on profiles: copies of those of some processes.
func (b *bench) runMerge(ctx context.Context, n int64, _ int) (cost, error) {
	files, _, err := b.record(ctx, b.ops, b.processes)
	if err != nil {
		return cost{}, err
	}
	_, profiles, err := b.profiles(ctx, files)
	if err != nil {
		return cost{}, err
	}
	var all []string
	for len(all) < int(n) {
		text, err := os.ReadFile(profiles[len(all)%len(profiles)])
		if err != nil {
			return cost{}, err
		}
		all = append(all, b.path("copy.jsonl"))
		if err := os.WriteFile(all[len(all)-1], text, 0o600); err != nil {
			return cost{}, err
		}
	}
	var c cost
	if c.in, err = sizes(all); err != nil {
		return c, err
	}
	each := b.ops / int64(b.processes)
	c.cpu, c.out, err = b.report(ctx, each*n, all)
	return c, errors.Join(err, remove(files), remove(profiles), remove(all))
}
