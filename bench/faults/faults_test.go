package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/producer"
)

func TestMain(m *testing.M) {
	producer.Main()
	os.Exit(m.Run())
}

// A round of each fault breaks no promise.
func TestRounds(t *testing.T) {
	cases.Rare(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			c := &campaign{rng: rand.New(rand.NewPCG(1, 2))}
			b := book{name: f.name}
			check.OK(t, c.round(t.Context(), f, &b, t.TempDir()))
			if b.skipped != "" {
				t.Skip(b.skipped)
			}
			if b.rounds != 1 || len(b.broken) > 0 {
				t.Errorf("%+v", b)
			}
		})
	}
}

// What is missing, unreadable or there twice is told.
func TestBrokenPromises(t *testing.T) {
	dir := t.TempDir()
	const line = `{"step":1,"operation":"a","device_id":null,"duration_ns":1}` + "\n"
	for name, text := range map[string]string{"twice.jsonl": line + line, "text": "This is something else.\n"} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	r := &round{}
	found := check.Must(r.find(dir))(t)
	r.expect(found, producer.Producer{}, producer.Told{Written: 3})
	r.balance(producer.Told{Recorded: 3, Written: 1, Dropped: 1})
	told := strings.Join(r.broken, "\n")
	for _, want := range []string{"cannot be read", "more than once", "2 of 3 safe operations", "recorded 3, written 1"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told of: %s", want, told)
		}
	}
	check.Equal(t, "missing", 2, r.missing)
}
