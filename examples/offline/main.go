// Command offline profiles batches that were recorded elsewhere, by the
// library: it prints the five operations that took the most time and how
// evenly the devices were loaded.
//
// Usage:
//
//	go run ./offline INPUT...
//
// An INPUT is a file, a directory or "-". What a file holds is found by its
// content, and gzip and zstd are opened transparently.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

const top = 5

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: offline INPUT...")
		os.Exit(2)
	}
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "offline:", err)
		os.Exit(1)
	}
}

// run profiles the inputs and prints to out; it tells errs of what could not be
// read.
func run(inputs []string, out, errs io.Writer) error {
	// A Profile sums up in one pass. Its memory grows with the number of
	// different operations and devices, not with that of entries.
	profile := profile.New(profile.Options{})
	for entry, err := range ingest.Open(inputs...).Entries() {
		var bad *op.SyntaxError
		switch {
		case errors.As(err, &bad): // one damaged line; reading goes on
			fmt.Fprintln(errs, "skipped:", bad)
		case err != nil:
			return err
		default:
			profile.Add(entry) // entry is overwritten by the next one: Clone to keep it
		}
	}

	// analyze.Run does the above and more: it also says what was read and lost, and
	// computes what needs parents and times.
	report := analyze.ReportOn(profile)
	if err := printOperations(out, report); err != nil {
		return err
	}
	return printBalance(out, report.LoadBalance)
}

func printOperations(out io.Writer, r *analyze.Report) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "operation\tcount\ttotal\tmean\tshare\n")
	for _, o := range r.Operations[:min(top, len(r.Operations))] { // the most expensive come first
		share := "-"
		if o.Share.Known { // pointers are figures that may be unknown
			share = fmt.Sprintf("%.1f %%", 100*o.Share.V)
		}
		fmt.Fprintf(tw, "%s\t%d\t%v\t%v\t%s\n", o.Operation, o.Count, micros(float64(o.SumNS)), micros(o.MeanNS), share)
	}
	return tw.Flush()
}

// micros is a duration to the microsecond. Figures are in nanoseconds
// throughout.
func micros(ns float64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }

func printBalance(out io.Writer, b *profile.Balance) error {
	if b == nil {
		_, err := fmt.Fprintln(out, "\nfewer than two devices: nothing to balance")
		return err
	}
	fmt.Fprintf(out, "\n%d devices, the busiest %.1f %% above the mean\n", b.DeviceCount, 100*b.ImbalanceRatio)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range b.PerDeviceDurationUS {
		fmt.Fprintf(tw, "%s\t%v\n", d.Device, micros(1000*d.DurationUS))
	}
	return tw.Flush()
}
