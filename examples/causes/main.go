// Command causes writes the recording of a run with one known cause of slowness, to try a report on it. The tests of
// findings use the same causes. A cause adds strength times the duration of the run without it.
//
// Usage:
//
//	go run ./causes -cause late_device -strength 0.2 > ops.jsonl
//	go run ./causes -cause slow_operation -layout server > ops.jsonl
//	go run ./causes -cause slow_operation -layout server -without > ops.jsonl
//	go run ./causes -list
//
// With a layout, -without writes the same run, with the same noise, without the cause.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/internal/testing/causes"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

func main() {
	cause := flag.String("cause", causes.Training, "the cause")
	strength := flag.Float64("strength", 0.2, "how much of the time it adds")
	seed := flag.Uint64("seed", 1, "runs of one seed are the same")
	layout := flag.String("layout", "", "the form of a recording of a program or a server, see -list")
	without := flag.Bool("without", false, "leave out the cause; needs -layout")
	list := flag.Bool("list", false, "list the causes, the findings that name them and from which strength")
	flag.Parse()
	var err error
	switch {
	case *list:
		err = printList(os.Stdout)
	case *layout != "":
		err = causes.WriteTwin(os.Stdout, *cause, causes.Layout(*layout), *without, *strength, *seed)
	case *without:
		err = errors.New("-without needs -layout")
	default:
		err = causes.Write(os.Stdout, *cause, *strength, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "causes:", err)
		os.Exit(1)
	}
}

func printList(w io.Writer) error {
	for _, c := range causes.Causes {
		if _, err := fmt.Fprintf(w, "%-16s %-17s %g\n", c.Name, c.Finding, c.From); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s, %s: no cause\n", causes.Training, causes.Serving)
	for _, layout := range append(slices.Clone(causes.Layouts), causes.ServerLayouts...) {
		for _, c := range causes.PlantedIn(layout) {
			if _, err := fmt.Fprintf(w, "-layout %-15s %-16s undone by -change %q\n", layout, c.Name, c.Change(0.2)); err != nil {
				return err
			}
		}
	}
	return err
}
