package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// generate is the script command "generate FILE FACTOR": it writes a run of 20 steps, with random durations seeded by
// the file's name; the durations of matmul are multiplied by the factor.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: generate file factor")
	}
	factor, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	seed := fnv.New64()
	_, _ = seed.Write([]byte(args[0]))
	rng := rand.New(rand.NewPCG(seed.Sum64(), 0))
	var lines strings.Builder
	at := int64(1_795_347_274_000_000_000)
	for step := range 20 {
		for _, o := range []struct {
			name string
			ns   float64
		}{{"matmul", 120_000 * factor}, {"relu", 9000}, {"all_reduce", 60_000}} {
			ns := int64(o.ns * math.Exp(0.03*rng.NormFloat64()))
			fmt.Fprintf(&lines,
				`{"step":%d,"operation":%q,"device_id":"cuda:0","start_unix_ns":%d,"duration_ns":%d}`+"\n", step,
				o.name, at, ns)
			at += ns + 2000
		}
		at += 15_000
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lines.String()), 0o644))
}
