// Package inputs says what an input lacks: operations, records that were understood, work without errors.
package inputs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Input describes an input without operations.
type Input struct {
	// Filtered counts operations that are not what is asked for.
	Filtered, Spans int64
	Formats         []string
	// IsEmpty is set for files without any record, HasUnknown for files with records that were not understood.
	IsEmpty, HasUnknown bool
}

// isRecording reports whether every file with a known format has one written by an exporter.
func (in *Input) isRecording() bool {
	return !slices.ContainsFunc(in.Formats, func(name string) bool {
		return name != "entries-jsonl" && name != "otlp-json" && name != "otlp-proto"
	})
}

// profiled says what the operations of profilers are, by the format.
var profiled = map[string]string{
	"chrome": "those of PyTorch, JAX, TensorFlow, rocprof, unitrace and Ascend are known by their categories and " +
		"processes, others by the argument tensor.op.name.",
	"nsys": "the export has no kernels, copies or ranges. Record with nsys profile --trace=cuda,nvtx; its " +
		"diagnostics say why a device is missing.",
	"perfetto": "the trace has no operations of a device, such as those of rocprofv3 --kernel-trace.",
}

// Explain says why there are no operations, and how to record some. The command may be "".
func (in *Input) Explain() (text, command string) {
	const doctor = "optrace doctor"
	came := units.Plural(in.Spans, "span") + " came in, none of them an operation: "
	switch {
	case in.Filtered > 0:
		return units.Plural(in.Filtered, "operation") + " came in, and none of them is what is asked for.", ""
	case in.IsEmpty && in.isRecording():
		text = "The input is empty: the program ended before anything was flushed."
		if len(in.Formats) > 0 {
			text = "The recording holds no operations: the program ended before any were flushed, or recorded none."
		}
		return text + " Call Shutdown before os.Exit or log.Fatal, and use optrace.WithSignals for signals.", doctor
	case in.Spans == 0 && slices.Contains(in.Formats, "chrome") && in.HasUnknown:
		return "No event of the profile was understood: asynchronous ones (b, e) are not read.", doctor
	case in.Spans == 0 && slices.Contains(in.Formats, "chrome"):
		return "The profile has no event with a duration: it ended, or its schedule was inactive, before the work.", doctor
	case len(in.Formats) == 1 && profiled[in.Formats[0]] != "":
		if in.Spans == 0 {
			came = "No span came in: "
		}
		return came + profiled[in.Formats[0]], doctor
	case in.Spans > 0:
		text = came + "operations have the attribute tensor.op.name, or come from a profiler."
	default:
		text = "Nothing came in."
	}
	return text + " Record with optrace.NewFileExporter and run optrace report ops.jsonl, or run optrace serve and " +
		"set OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318.", "optrace serve"
}

// NotUnderstood returns the reasons of skipped records, if they may be operations, the most frequent first.
func NotUnderstood(skipped map[string]int64) []string {
	var classes []string
	for reason, n := range skipped {
		isOne := op.SkipReason(reason) == op.SkipUnknownRecord || op.SkipReason(reason) == op.SkipUnpaired
		if n > 0 && (isOne || strings.HasPrefix(reason, string(op.SkipCategory))) {
			classes = append(classes, reason)
		}
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(skipped[b], skipped[a]), strings.Compare(a, b))
	})
	return classes
}

// MostFrequentError returns the most frequent error text and its count.
func MostFrequentError(errors []profile.Error) (text string, count int64) {
	counts := make(map[string]int64)
	for _, e := range errors {
		counts[e.Text] += e.Count
	}
	for _, e := range errors { // in the order of the section
		if n := counts[e.Text]; n > count {
			text, count = e.Text, n
		}
	}
	return text, count
}
