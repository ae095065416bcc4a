package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFileIsUpToDate(t *testing.T) {
	want, err := source()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../operations.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("operations.go is not what go generate writes (-want +got):\n%s", diff)
	}
}
