package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

// The tests are the program that records, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == writerMode {
		exit(write(context.Background(), os.Args[2:]))
	}
	os.Exit(m.Run())
}

// All tiers run on a few operations, the store where there is a server.
func TestRun(t *testing.T) {
	cases.Rare(t)
	args := []string{"-ops", "400", "-processes", "2"}
	tiers := []string{"| process | op |", "| profile | op |", "| merge | profile |", "| collector | op |"}
	if server := os.Getenv("OPTRACE_CLICKHOUSE_SERVER"); server != "" {
		args, tiers = append(args, "-clickhouse", server), append(tiers, "| store | op |")
	} else {
		tiers = append(tiers, "The store was not measured")
	}
	document := t.TempDir() + "/scale.md"
	if err := os.WriteFile(document, []byte("before\n<!-- fleet -->\nold\n<!-- end of fleet -->\nbehind\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), t.TempDir(), append(args, "-update", document), &out, &progress); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	wanted := append(tiers, "### Costs per unit", "### The model against", "### 10000 GPUs, 1e+09 operations", "A terabyte of disk")
	for _, want := range wanted {
		if !strings.Contains(out.String(), want) || !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s\nor in\n%s", want, out.String(), text)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, args := range [][]string{
		{"-only", "nothing"}, {"-ops", "0"}, {"-processes", "0"}, {"-gpus", "0"}, {"-interval", "0s"}, {"-rate", "NaN"}, {"argument"},
		{"-no-such-flag"}, {"-update", t.TempDir()},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), t.TempDir(), args, &out, &out); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}

// A line goes through what two runs cost.
func TestLine(t *testing.T) {
	few, many := cost{cpu: 30 * time.Millisecond, in: 1000, out: 700}, cost{cpu: 60 * time.Millisecond, in: 4000, out: 1300}
	l := through(100, 400, few, many)
	if diff := cmp.Diff(line{cpu: 100_000, cpuFixed: 20e6, in: 10, out: 2, outFixed: 500}, l, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		units int64
		runs  int
		want  cost
	}{
		{100, 1, few}, {400, 1, many},
		{1000, 4, cost{cpu: 180 * time.Millisecond, in: 10_000, out: 4000}},
	} {
		if diff := cmp.Diff(test.want, l.predict(test.units, test.runs), cmp.AllowUnexported(cost{})); diff != "" {
			t.Errorf("%d units in %d runs (-want +got):\n%s", test.units, test.runs, diff)
		}
	}
	if got := []string{off(110, 100), off(90, 100), off(1, 0)}; !cmp.Equal(got, []string{"+10 %", "-10 %", ""}) {
		t.Errorf("errors are %q", got)
	}
}

// What a fleet takes, by hand.
func TestFleet(t *testing.T) {
	results := []result{
		{tier: tier{name: tierProcess, unit: "op"}, line: line{cpu: 500, cpuFixed: 1e9, out: 50}},
		{tier: tier{name: tierProfile, unit: "op"}, line: line{cpu: 400, cpuFixed: 6e6, in: 50, outFixed: 60_000}},
		{tier: tier{name: tierMerge, unit: "profile"}, line: line{cpu: 1e6, cpuFixed: 60e6, in: 60_000}},
		{tier: tier{name: tierCollector, unit: "op"}, line: line{cpu: 5000, cpuFixed: 1e9, in: 400, out: 50}},
	}
	var b bytes.Buffer
	fleet{gpus: 1000, rate: 1e8, forward: 0.01, interval: 60}.write(&b, results)
	const head = "\n### 1000 GPUs, 1e+08 operations a second, 0.01 of them forwarded, a profile in 60 s\n\n" +
		"| tier | units a second | CPU cores | of them per GPU | MB/s in | MB/s out | TB a day out |\n|---|--:|--:|--:|--:|--:|--:|\n"
	rows := fmt.Sprint(
		"| process | 1e+08 op | 50 | 0.05 | 0 | 5000 | 432 |\n",        // 500 ns × 1e8/s; 50 B × 1e8/s
		"| profile | 1e+08 op | 40.1 | 0.0401 | 5000 | 1 | 0.0864 |\n", // + 6 ms × 1000/60 s; 60 kB × 1000/60 s
		"| merge | 16.7 profile | 0.0177 | 1.77e-05 | 1 | 0 | 0 |\n",   // 1 ms × 1000/60 s + 60 ms/60 s
		"| collector | 1e+06 op | 5 | 0.005 | 400 | 50 | 4.32 |\n")     // 5 µs × 1e6/s
	const tail = "\nA terabyte of disk per GPU holds the last 56 hours of all of its operations.\n" // 1e12 / (50 B × 1e5/s)
	if diff := cmp.Diff(head+rows+tail, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
