// Command offline profiles recordings with the library: it prints the five most expensive operations and the load
// balance of the devices.
//
// Usage:
//
//	go run ./offline INPUT...
//
// An INPUT is a file, a directory or "-". The library detects formats and decompresses gzip and zstd.
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

// run profiles the inputs, prints to out, and reports unreadable lines to errs.
func run(inputs []string, out, errs io.Writer) error {
	// A Profile adds up entries in one pass. Its memory grows with the number of distinct operations and devices.
	profile := profile.New(profile.Options{})
	for entry, err := range ingest.Open(inputs...).Entries() {
		var bad *op.SyntaxError
		switch {
		case errors.As(err, &bad): // one damaged line; reading goes on
			fmt.Fprintln(errs, "skipped:", bad)
		case err != nil:
			return err
		default:
			profile.Add(entry) // the next entry overwrites this one: Clone to keep it
		}
	}

	// analyze.Run does the same, reports losses, and computes figures that need parents and times.
	report := analyze.ReportOn(profile)
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
		if o.Share.Known { // unknown figures have Known false
			share = fmt.Sprintf("%.1f %%", 100*o.Share.V)
		}
		fmt.Fprintf(tw, "%s\t%d\t%v\t%v\t%s\n", o.Operation, o.Count, micros(float64(o.SumNS)), micros(o.MeanNS), share)
	}
	return tw.Flush()
}

// micros rounds a duration to microseconds. All figures are in nanoseconds.
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
