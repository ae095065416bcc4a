package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// cost is what a tier took for some units of work.
type cost struct {
	cpu time.Duration
	in  int64 // bytes that came
	out int64 // bytes that were written
}

// line is a cost per unit and per run, in nanoseconds and bytes.
type line struct{ cpu, cpuFixed, in, out, outFixed float64 }

// through returns the line through the costs of few and of many units.
func through(few, many int64, a, b cost) line {
	units := float64(many - few)
	l := line{
		cpu: max(0, float64(b.cpu-a.cpu)/units), in: max(0, float64(b.in-a.in)/units), out: max(0, float64(b.out-a.out)/units),
	}
	l.cpuFixed = max(0, float64(a.cpu)-l.cpu*float64(few))
	l.outFixed = max(0, float64(a.out)-l.out*float64(few))
	return l
}

// predict returns what some units in some runs cost.
func (l line) predict(units int64, runs int) cost {
	n, r := float64(units), float64(runs)
	return cost{cpu: time.Duration(l.cpu*n + l.cpuFixed*r), in: int64(l.in * n), out: int64(l.out*n + l.outFixed*r)}
}

// off returns by what part a prediction is too large.
func off(predicted, measured float64) string {
	if measured <= 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", 100*(predicted/measured-1))
}

// result is what was found out about a tier.
type result struct {
	tier
	line
	units     int64 // of the check
	predicted cost
	measured  cost
}

// writeCosts prints the costs of the tiers, and how far the model is off.
func writeCosts(w io.Writer, results []result) {
	fmt.Fprint(w, "\n### Costs per unit\n\n"+
		"| tier | unit | CPU ns | bytes in | bytes out | per run: CPU ms | bytes |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		fmt.Fprintf(w, "| %s | %s | %.0f | %.1f | %.1f | %.0f | %.0f |\n",
			r.name, r.unit, r.cpu, r.line.in, r.line.out, r.cpuFixed/1e6, r.outFixed)
	}
	fmt.Fprint(w, "\n### The model against a larger run, several processes at once\n\n"+
		"| tier | units | runs | CPU s: model | measured | error | MB out: model | measured | error |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		fmt.Fprintf(w, "| %s | %d | %d | %.2f | %.2f | %s | %.2f | %.2f | %s |\n", r.name, r.units, r.runs(),
			r.predicted.cpu.Seconds(), r.measured.cpu.Seconds(), off(float64(r.predicted.cpu), float64(r.measured.cpu)),
			float64(r.predicted.out)/1e6, float64(r.measured.out)/1e6, off(float64(r.predicted.out), float64(r.measured.out)))
	}
}

// fleet is what is to be watched.
type fleet struct {
	gpus     float64 // a process each
	rate     float64 // operations a second, of all
	forward  float64 // part of the operations that leaves the host as spans
	interval float64 // seconds of a profile
}

// write prints what each tier takes of a fleet.
func (f fleet) write(w io.Writer, results []result) {
	fmt.Fprintf(w, "\n### %.0f GPUs, %.3g operations a second, %.3g of them forwarded, a profile in %.0f s\n\n",
		f.gpus, f.rate, f.forward, f.interval)
	fmt.Fprint(w, "| tier | units a second | CPU cores | of them per GPU | MB/s in | MB/s out | TB a day out |\n"+
		"|---|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		units, runs := f.load(r.tier)
		cores := (r.cpu*units + r.cpuFixed*runs) / 1e9
		out := r.line.out*units + r.outFixed*runs
		fmt.Fprintf(w, "| %s | %.3g %s | %.3g | %.3g | %.4g | %.4g | %.3g |\n", r.name, units, r.unit, cores, cores/f.gpus,
			r.line.in*units/1e6, out/1e6, out*86400/1e12)
	}
	if i := slices.IndexFunc(results, func(r result) bool { return r.name == tierProcess }); i >= 0 {
		perGPU := results[i].line.out * f.rate / f.gpus
		fmt.Fprintf(w, "\nA terabyte of disk per GPU holds the last %.0f hours of all of its operations.\n", 1e12/perGPU/3600)
	}
}

// load returns how many units a tier has in a second, and how many runs.
func (f fleet) load(t tier) (units, runs float64) {
	switch t.name {
	case tierProcess:
		return f.rate, 0 // a process is started once
	case tierProfile:
		return f.rate, f.gpus / f.interval
	case tierMerge:
		return f.gpus / f.interval, 1 / f.interval
	}
	return f.rate * f.forward, 0
}
