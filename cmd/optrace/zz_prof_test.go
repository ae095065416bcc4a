package main

import (
	"context"
	"io"
	"os"
	"testing"
)

func BenchmarkZZ(b *testing.B) {
	for b.Loop() {
		if c := run(context.Background(), []string{"report", os.Getenv("ZZ")}, os.Stdin, io.Discard, os.Stderr); c != 0 {
			b.Fatal(c)
		}
	}
}
