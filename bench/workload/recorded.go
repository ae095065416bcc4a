package workload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/model/attrkey"
)

// opsPerQuickstartStep is how many operations the quickstart example records in a
// step on its four devices.
const opsPerQuickstartStep = 112

// writeRecorded makes a file of what the quickstart example records. Other formats
// are converted from the entries of the same run.
func writeRecorded(ctx context.Context, env *measure.Env, path string, f Format, c Config) error {
	if f != Entries {
		entries, err := Get(ctx, env, Entries, c)
		if err != nil {
			return err
		}
		return convertRecorded(ctx, env, entries.Path, path, f)
	}
	quickstart, err := env.Program(ctx, "examples/quickstart")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(env.Cache, ".quickstart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	steps := max(1, c.Ops/opsPerQuickstartStep)
	if _, _, err := measure.Command(ctx, 1, quickstart, "-steps", strconv.Itoa(steps), "-devices", "4", "-o", dir); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "ops.jsonl"), path)
}

// convertRecorded writes entries as OTLP, in the Collector's form.
func convertRecorded(ctx context.Context, env *measure.Env, entries, path string, f Format) error {
	program, err := env.OptraceProgram(ctx)
	if err != nil {
		return err
	}
	converted := path + ".converted"
	defer func() { _ = os.Remove(converted) }()
	if _, _, err := measure.Command(ctx, 1, program, "convert", "-to", "otlp", "-o", converted, entries); err != nil {
		return err
	}
	text, err := os.ReadFile(converted)
	if err != nil {
		return err
	}
	return Create(path, func(file *os.File) error {
		out := newCollector(file, f)
		for line := range bytes.Lines(text) {
			var u ptrace.JSONUnmarshaler
			td, err := u.UnmarshalTraces(line)
			if err != nil {
				return fmt.Errorf("converted OTLP: %w", err)
			}
			removeDerived(td)
			if err := out.write(td); err != nil {
				return err
			}
		}
		return out.w.Flush()
	})
}

// removeDerived removes the attributes that the spans did not have when they were
// recorded: the conversion keeps with them what entries have beyond that.
func removeDerived(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				s.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool {
					return strings.HasPrefix(key, "optrace.") || key == attrkey.Memory
				})
			}
		}
	}
}
