package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// profiler is a source of recordings with options, not attributes.
type profiler struct {
	name   string
	record string            // the command or options for a complete recording
	try    map[string]string // the option for each check; other properties cannot be recorded
}

const (
	activities = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
	shapes     = "record_shapes=True"
	emitNVTX   = "torch.autograd.profiler.emit_nvtx(record_shapes=True) around the work, or NVTX ranges of your own"
	traceCUDA  = "nsys profile -t cuda,nvtx"
	traceAll   = "rocprofv3 --sys-trace"
)

// The known profilers, with options of PyTorch 2, Nsight Systems 2024 and ROCm 6, or later.
var (
	pytorch = &profiler{
		"pytorch", "torch.profiler.profile(" + activities + ", record_shapes=True, with_stack=True, with_modules=True, " +
			"profile_memory=True)",
		map[string]string{
			"devices": activities, "streams": activities, "launch_times": activities, "starts": activities,
			"input_shapes": shapes, "flops": shapes + ": FLOPs follow for the host's operators",
			"steps": "prof.step() after each step, with a schedule=torch.profiler.schedule(…)",
			"ranks": "init_process_group before the profile starts", "groups": shapes + ", with PyTorch 2.3 or later",
		},
	}
	nsight = &profiler{
		"nsight", "nsys profile -t cuda,nvtx,cublas,cudnn --cuda-graph-trace=node --python-backtrace=cuda -o run …; " +
			"nsys export --type sqlite run.nsys-rep",
		map[string]string{
			"parents": emitNVTX, "input_shapes": emitNVTX,
			"steps":   "an NVTX range around each step, such as \"step 12\"",
			"devices": traceCUDA, "streams": traceCUDA, "launch_times": traceCUDA,
		},
	}
	rocprof = &profiler{
		"rocprof", "rocprofv3 --sys-trace --output-format pftrace -- …",
		map[string]string{
			"streams": traceAll, "launch_times": traceAll,
			"memory": "rocprofv3 --memory-copy-trace, for the size of copies",
			"steps":  "a roctx range around each step, and rocprofv3 --marker-trace",
		},
	}
	onnxruntime = &profiler{"onnxruntime", "SessionOptions.enable_profiling = True", nil}
)

// Prefixes of names specific to operators of PyTorch, and to work on ROCm.
var (
	operatorNames = []string{"aten::", "autograd::", "c10d::", "ProfilerStep#"}
	rocmNames     = []string{"Cijk_", "rccl", "__amd_rocclr_", "MEMORY_COPY_"}
)

// profiler returns the recording's profiler, nil for programs with attributes and unknown profilers.
func (d *Doctor) profiler(formats []string) *profiler {
	has := func(format string) bool { return slices.Contains(formats, format) }
	switch {
	case len(formats) != 1:
		return nil
	case has("nsys"):
		return nsight
	case has("ort"):
		return onnxruntime
	case has("chrome") && d.pytorch:
		return pytorch
	case d.rocm && (has("chrome") || has("perfetto")):
		return rocprof
	}
	return nil
}

// advise replaces the advice for programs by an option of the profiler. It gives no option for properties or shapes
// present in some operations: the option was set.
func (p *profiler) advise(f *Finding, shaped bool) {
	f.Go = []string{}
	f.Attributes = []Attribute{}
	if try := p.try[f.Name]; f.Missing == f.Count && !(shaped && strings.HasPrefix(try, shapes)) {
		f.Try = try
	}
}

// sampled describes the operations left out by a sampler, with their share if known from weights or the sampler's name.
func (d *Doctor) sampled(env *analyze.Envelope) []Lack {
	if env.Sampling != analyze.SamplingKnown && env.Sampling != analyze.SamplingUnknown {
		return nil
	}
	var kept op.Float
	if env.Sampling == analyze.SamplingKnown {
		kept = op.KnownFloat(float64(env.Entries) / d.estimated)
	} else if _, ratio, found := strings.Cut(env.Sampler, "TraceIDRatioBased{"); found {
		ratio, _, _ = strings.Cut(ratio, "}")
		share, err := strconv.ParseFloat(ratio, 64)
		kept = op.Float{V: share, Known: err == nil && share >= 0 && share <= 1}
	}
	text := "An unknown share of operations is missing"
	if kept.Known {
		text = "About " + units.Percent(1-kept.V) + " of operations are missing"
	}
	if env.Sampler != "" {
		text += fmt.Sprintf(": the sampler %s left them out", env.Sampler)
	}
	return []Lack{{text, "optrace.Setup with WithSampler(s), or NewProcessor with WithRecordOnly() and " +
		"sdktrace.WithSampler(sdktrace.AlwaysRecord(s)): the file then has all operations"}}
}
