package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/gomlx/stepping"
)

// contest is a model that is trained in several ways.
type contest struct {
	name  string
	model model
	rows  int
	steps int // of each way
}

// contests go from operations on a few numbers to ones on a million.
func contests() []contest {
	noPaths := func(string) {}
	return []contest{
		{"8 images, layer of 8", model{hidden: []int{8}, enter: noPaths}, 8, 400},
		{"32 images, layers of 64, 64", model{hidden: []int{64, 64}, enter: noPaths}, 32, 200},
		{"32 images, the network of the example", model{convolution: true, hidden: []int{32}, enter: noPaths}, 32, 120},
		{"32 images, layers of 256, 256", model{hidden: []int{256, 256}, enter: noPaths}, 32, 40},
	}
}

// contestant is a way to train.
type contestant struct {
	trainer *trainer
	data    *digits
	fastest time.Duration // of its steps
}

// ways are the columns of the table. The last one records.
var ways = [...]string{"default", oneGoroutine: "one goroutine", "stepping", "stepping, recorded"}

// configs are the configurations of GoMLX's backend without the stepping one.
var configs = [...]string{"", oneGoroutine: sequential}

// oneGoroutine is the way that the others are compared with.
const oneGoroutine = 1

// compare prints how long a training step takes with GoMLX's backend as it is, with
// operations on one goroutine, and with the stepping backend on top of that, each with the ratio
// to the second. The ways take turns, and of each the fastest step counts.
func compare(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "gomlx")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sdk, err := optrace.Setup(filepath.Join(dir, "ops.jsonl"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx))) }()

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "model\toperations\t")
	for _, way := range ways {
		fmt.Fprint(w, way, "\t")
	}
	fmt.Fprintln(w)
	for _, c := range contests() {
		if err := c.run(ctx, sdk, configs, w); err != nil {
			return err
		}
	}
	return w.Flush()
}

// run prints the row of a contest.
func (c *contest) run(ctx context.Context, sdk *optrace.SDK, configs [2]string, out io.Writer) error {
	all, err := c.contestants(sdk, configs)
	if err != nil {
		return err
	}
	const warmUp = 3 // the first steps build graphs, and fill pools of memory
	before := uint64(0)
	for step := range warmUp + c.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if step == warmUp {
			before = sdk.Processor().Stats().Recorded
		}
		for i := range all {
			if err := all[i].step(c.rows, step >= warmUp); err != nil {
				return err
			}
		}
	}
	operations := (sdk.Processor().Stats().Recorded - before) / uint64(c.steps)
	fmt.Fprintf(out, "%s\t%d\t", c.name, operations)
	for _, x := range all {
		fmt.Fprintf(out, "%.3f ms, %.2f\t", x.fastest.Seconds()*1e3, float64(x.fastest)/float64(all[oneGoroutine].fastest))
	}
	fmt.Fprintln(out)
	return nil
}

// contestants returns a trainer for each way.
func (c *contest) contestants(sdk *optrace.SDK, configs [2]string) (all [len(ways)]contestant, err error) {
	var plain [2]backends.Backend
	for i, config := range configs {
		if plain[i], err = simplego.New(config); err != nil {
			return all, err
		}
	}
	for i, b := range []backends.Backend{
		plain[0], plain[1], stepping.New(plain[1], nil, "cpu:0"), stepping.New(plain[1], sdk.Tracer(), "cpu:0"),
	} {
		all[i].data = newDigits(seed)
		if all[i].trainer, err = newTrainer(b, &c.model, seed); err != nil {
			return all, err
		}
	}
	return all, nil
}

// step trains one step, and times it if it counts.
func (c *contestant) step(rows int, counts bool) error {
	images, labels := c.data.batch(rows)
	start := time.Now()
	_, err := c.trainer.step(images, labels)
	if took := time.Since(start); counts && (c.fastest == 0 || took < c.fastest) {
		c.fastest = took
	}
	return err
}
