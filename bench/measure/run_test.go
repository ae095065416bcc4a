package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// fake is a suite whose sides take the given times, the warm-up round first. done lists the calls.
func fake(rounds int, costs map[string][]time.Duration, done *[]string) *Suite {
	return &Suite{Name: "fake", Unit: "op", Rounds: rounds, QuickRounds: 1,
		Open: func(context.Context, *Env) (*Opened, error) {
			o := &Opened{
				Sides: map[string]Side{},
				After: func(context.Context) (map[string]float64, error) { return map[string]float64{"x": 5}, nil },
				Close: func() error { *done = append(*done, "closed"); return nil },
			}
			for name, list := range costs {
				n := 0
				o.Sides[name] = func(context.Context) (Sample, error) {
					*done = append(*done, name)
					n++
					return Sample{N: 10, CPU: list[n-1], Wall: 2 * list[n-1]}, nil
				}
			}
			return o, nil
		}}
}

func compare(s *Suite) []Case { return []Case{{Suite: s, Peer: "peer", Ours: "ours"}} }

func env() *Env { return &Env{Progress: io.Discard} }

func TestRun(t *testing.T) {
	var done []string
	s := fake(3, map[string][]time.Duration{
		"peer": {999, 100, 400, 200}, "ours": {999, 50, 100, 200}, "other": {999, 1, 1, 1},
	}, &done)
	m := Measure{Name: "a", Cases: compare(s), Target: 2}
	rep := check.Must(Run(t.Context(), env(), []Measure{m}))(t)
	// The median of the ratios differs from the ratio of the medians.
	figures := Figures{Ratio: 2, Min: 1, Max: 4, PeerNS: 20, OursNS: 10}
	want := []Row{{
		Measure: m, Figures: figures, Unit: "op", Cases: map[string]Figures{"": figures},
	}}
	check.Equal(t, "", want, rep.Rows, cmp.Comparer(func(a, b *Suite) bool { return a == b }))
	check.Equal(t, "values", map[string]float64{"x": 5}, rep.Values)
	// Only compared sides run, and the order is reversed from round to round.
	if !rep.Rows[0].Met() {
		t.Error("the ratio meets its target")
	}
	check.Equal(t, "done", "ours peer peer ours ours peer peer ours closed", strings.Join(done, " "))
}

func TestWallQuickAndCold(t *testing.T) {
	for name, tt := range map[string]struct {
		rounds            int
		wall, quick, cold bool
		ours              float64
	}{"wall": {2, true, false, false, 20}, "quick": {3, false, true, false, 5}, "cold": {2, false, false, true, 7.5}} {
		s := fake(tt.rounds, map[string][]time.Duration{"peer": {1, 1, 1}, "ours": {100, 50, 150}}, new([]string))
		s.Cold = tt.cold
		rep := check.Must(Run(t.Context(), &Env{Progress: io.Discard, Quick: tt.quick}, []Measure{
			{Name: "a", Cases: compare(s), Wall: tt.wall},
		}))(t)
		check.Equal(t, name, tt.ours, rep.Rows[0].OursNS)
	}
}

func TestRunFailures(t *testing.T) {
	failing := errors.New("broken")
	side := func(sum string, err error) Side {
		return func(context.Context) (Sample, error) { return Sample{N: 1, CPU: 1, Sum: sum}, err }
	}
	ok := func() *Opened {
		return &Opened{Sides: map[string]Side{"peer": side("", nil), "ours": side("", nil)}}
	}
	for _, tt := range []struct {
		name   string
		open   func() (*Opened, error)
		reason string
		err    string
	}{
		{"fine", func() (*Opened, error) { return ok(), nil }, "", "<nil>"},
		{"unavailable", func() (*Opened, error) { return nil, &UnavailableError{Need: "a tool"} }, "a tool", "<nil>"},
		{"open fails", func() (*Opened, error) { return nil, failing }, "failed", "fake: preparing: broken"},
		{"side fails", func() (*Opened, error) {
			o := ok()
			o.Sides["ours"] = side("", failing)
			return o, nil
		}, "failed", "fake: ours: broken"},
		{"check fails", func() (*Opened, error) {
			o := ok()
			o.Check = func() error { return failing }
			return o, nil
		}, "failed", "fake: broken"},
		{"sums differ", func() (*Opened, error) {
			return &Opened{Sides: map[string]Side{"peer": side("7", nil), "ours": side("8", nil)}}, nil
		}, "failed", "fake: peer comes to 7, but ours to 8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Suite{Name: "fake", Rounds: 2,
				Open: func(context.Context, *Env) (*Opened, error) { return tt.open() }}
			rep, err := Run(t.Context(), env(), []Measure{{Name: "a", Cases: compare(s), Target: 1}})
			check.Equal(t, "error", tt.err, fmt.Sprint(err))
			check.Equal(t, "reason", tt.reason, rep.Reasons["a"])
		})
	}
}

func TestRowHasSmallestRatio(t *testing.T) {
	fast := fake(1, map[string][]time.Duration{"peer": {900, 900}, "ours": {100, 100}}, new([]string))
	slow := fake(1, map[string][]time.Duration{"peer": {400, 400}, "ours": {100, 100}}, new([]string))
	absent := &Suite{Name: "absent", Open: func(context.Context, *Env) (*Opened, error) {
		return nil, &UnavailableError{Need: "a tool"}
	}}
	both := []Case{
		{Data: "fast", Suite: fast, Peer: "peer", Ours: "ours"},
		{Data: "slow", Suite: slow, Peer: "peer", Ours: "ours"},
	}
	rep := check.Must(Run(t.Context(), env(), []Measure{
		{Name: "both", Cases: both},
		{Name: "lacking", Target: 1, Cases: append([]Case{{Data: "absent", Suite: absent, Peer: "peer", Ours: "ours"}},
			both...)},
	}))(t)
	got := map[string]float64{}
	for _, r := range rep.Rows {
		got[r.Measure.Name] = r.Ratio
	}
	check.Equal(t, "ratios", map[string]float64{"both": 4}, got)
	check.Equal(t, "reasons", map[string]string{"lacking": "a tool"}, rep.Reasons)
}

// An entry of the cache is whole or missing, and made once.
func TestPreparedIsAtomic(t *testing.T) {
	e := &Env{Cache: filepath.Join(t.TempDir(), "not", "there", "yet")}
	failing := errors.New("no disk")
	made := 0
	for i, tt := range []struct {
		build error
		made  int
		left  int
	}{{failing, 1, 0}, {nil, 2, 1}, {nil, 2, 1}} {
		path, err := e.Prepared("entry", func(path string) error {
			made++
			return errors.Join(os.WriteFile(path, []byte("whole"), 0o644), tt.build)
		})
		text, _ := os.ReadFile(path)
		if !errors.Is(err, tt.build) || (err == nil) != (string(text) == "whole") || made != tt.made {
			t.Errorf("%d: %v, made %d times", i, err, made)
		}
		if found, err := os.ReadDir(e.Cache); err != nil || len(found) != tt.left {
			t.Errorf("%d: %v is left behind (%v)", i, found, err)
		}
	}
}

func TestTimed(t *testing.T) {
	var kept [][]byte
	s := check.Must(Timed(100, func() error {
		for range 100 {
			kept = append(kept, make([]byte, 64))
		}
		for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
		}
		return nil
	}))(t)
	if len(kept) != 100 || s.N != 100 || s.Allocs < 100 || s.Allocs > 1000 {
		t.Errorf("%d allocations of %d units", s.Allocs, s.N)
	}
	if s.Wall < 5*time.Millisecond || s.CPU <= 0 {
		t.Errorf("CPU %v, wall %v", s.CPU, s.Wall)
	}
}

func TestCommand(t *testing.T) {
	s, out, err := Command(context.Background(), 3, "go", "env", "GOOS")
	check.OK(t, err)
	if s.N != 3 || s.Wall <= 0 || s.CPU <= 0 || len(out) == 0 {
		t.Errorf("%+v and %q", s, out)
	}
	_, _, err = Command(context.Background(), 1, "go", "no-such-command")
	if err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("error %v lacks the message of the program", err)
	}
}

func TestMedian(t *testing.T) {
	check.Equal(t, "of none", true, math.IsNaN(Median(nil)))
	check.Equal(t, "of an even number", 2.5, Median([]float64{1, 100, 2, 3}))
	check.Equal(t, "of an odd number", 5, Median([]float64{9, 1, 5}))
}

func TestCosts(t *testing.T) {
	samples := []Sample{{N: 10, CPU: 100, Bytes: 40, Allocs: 20}, {N: 10, CPU: 300, Bytes: 40}, {N: 10, CPU: 200, Bytes: 40}}
	check.Equal(t, "medians for a unit", Cost{NS: 20, Bytes: 4, Allocs: 0}, CostOf(samples))
	if line := Machine(true); !strings.Contains(line, "CPUs, GOGC ") || !strings.HasSuffix(line, "; quick run") {
		t.Error(line)
	}
}

func TestFindSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	check.OK(t, os.WriteFile(path, []byte("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n"), 0o644))
	check.OK(t, check.Must(FindSection(path))(t)("new\n\n"))
	want := "before\n<!-- table -->\n\nnew\n\n<!-- end of table -->\nbehind\n"
	check.Equal(t, "document", want, string(check.Must(os.ReadFile(path))(t)))
	for _, text := range []string{"no table\n", "<!-- table -->\n", "<!-- end of table -->\n<!-- table -->\n"} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := FindSection(path); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if _, err := FindSection(filepath.Join(path, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestTable(t *testing.T) {
	one := Figures{5, 4, 6, 500, 100}
	many := Figures{3, 2.5, 4, 300, 100}
	rep := &Report{
		Rows: []Row{
			{
				Measure: Measure{Name: "fast", Limit: "memory", Target: 2,
					Cases: []Case{{Data: "one"}, {Data: "many"}}},
				Data: "many", Figures: many, Unit: "op", Cases: map[string]Figures{"one": one, "many": many},
			},
			{
				Measure: Measure{Name: "slow", Limit: "the disk", Target: 2, Cases: []Case{{}}},
				Figures: Figures{1, 1, 1, 5e8, 5e8}, Unit: "op",
			},
		},
		Reasons: map[string]string{"absent": "a tool"},
		Values:  map[string]float64{"lost_default_batch": 0.5},
	}
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	golden.Check(t, "testdata/table.md", Table(rep, "go1 on linux/amd64", at))
}
