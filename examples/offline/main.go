// Command offline profiles recordings of other programs with the library: it prints
// the five operations with the largest total time and the load of each device.
//
// Usage:
//
//	go run ./offline INPUT...
//
// An INPUT is a file, a directory or "-" for standard input. Formats are found by
// content, and gzip and zstd are opened transparently.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
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

// run prints the figures of the inputs to out and the damaged records to errs.
func run(inputs []string, out, errs io.Writer) error {
	// SumsOnly reads in one pass. Memory grows with the number of different operations
	// and devices, not with the number of records.
	report, err := analyze.Files(context.Background(), inputs, analyze.Options{SumsOnly: true})
	if err != nil {
		return err
	}
	for _, problem := range report.Input.Problems {
		fmt.Fprintln(errs, "skipped:", problem)
	}
	if err := printOperations(out, report); err != nil {
		return err
	}
	return printBalance(out, report.LoadBalance)
}

func printOperations(out io.Writer, r *analyze.Report) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "operation\tcount\ttotal\tmean\tshare\n")
	for _, o := range r.Operations[:min(top, len(r.Operations))] { // most expensive first
		share := "-"
		if o.Share.Known { // some figures may be unknown
			share = fmt.Sprintf("%.1f %%", 100*o.Share.V)
		}
		fmt.Fprintf(tw, "%s\t%d\t%v\t%v\t%s\n", o.Operation, o.Count, micros(float64(o.SumNS)), micros(o.MeanNS), share)
	}
	return tw.Flush()
}

// micros converts nanoseconds, the unit of all figures, to a duration in whole microseconds.
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
