// Command causes writes the recording of a run with one known cause of slowness, to try a report on it. The tests of
// findings use the same causes. -without writes the same run, with the same noise, without the cause.
//
// Usage:
//
//	go run ./causes -cause straggler > ops.jsonl
//	go run ./causes -cause host_gap -layout server -strength 0.5 > ops.jsonl
//	go run ./causes -cause host_gap -layout server -strength 0.5 -without > ops.jsonl
//	go run ./causes -list
package main

import (
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
	cause := flag.String("cause", "straggler", "the cause, see -list")
	strength := flag.Float64("strength", 0.2, "how much of the time it adds, about")
	seed := flag.Uint64("seed", 1, "runs of one seed are the same")
	layout := flag.String("layout", string(causes.Profile), "the form of the recording, see -list")
	without := flag.Bool("without", false, "leave out the cause")
	list := flag.Bool("list", false, "list layouts, causes, and the rules that find them")
	flag.Parse()
	var err error
	if *list {
		err = printList(os.Stdout)
	} else {
		err = causes.Write(os.Stdout, *cause, causes.Layout(*layout), *without, *strength, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "causes:", err)
		os.Exit(1)
	}
}

func printList(w io.Writer) error {
	for _, layout := range append(slices.Clone(causes.Layouts), causes.ServerLayouts...) {
		for _, c := range causes.PlantedIn(layout) {
			change := ""
			if c.Change != nil {
				change = c.Change(0.2)
			}
			if _, err := fmt.Fprintf(w, "-layout %-15s -cause %-15s found by %-17s undone by %q\n", layout, c.Name, c.Rule,
				change); err != nil {
				return err
			}
		}
	}
	return nil
}
