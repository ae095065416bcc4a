// Command offline prints the operations of recordings with the largest total time: go run ./offline INPUT...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/optrace/optrace/analyze"
)

func main() { // SumsOnly reads in one pass, in memory for the different operations.
	report, err := analyze.Files(context.Background(), os.Args[1:], analyze.Options{SumsOnly: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, problem := range report.Input.Problems {
		fmt.Fprintln(os.Stderr, "skipped:", problem)
	}
	for _, o := range report.Operations[:min(5, len(report.Operations))] {
		fmt.Printf("%-12s %d times, %d ns, %.1f %%\n", o.Operation, o.Count, o.SumNS, 100*o.Share.V)
	}
}
