// Package kernels tells kernels apart by their names, and by the threads of their launches.
package kernels

import (
	"regexp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// plainCores matches kernels for products of 32-bit numbers without tensor cores.
var plainCores = regexp.MustCompile(`sgemm|simt|_ffma|scudnn|f32f32_f32|cgemm|fp32_nn|fp32_nt|sm\d+_xmma_\w+_f32f32|` +
	`(?:dgrad|wgrad|conv)\w*<float`)

// tensorNames are the marks of kernels on tensor cores.
var tensorNames = regexp.MustCompile(`tf32|tensorop|s1688|s16816|884|hmma|wgmma|bf16|f16|fp8|e4m3`)

// beforeTF32 and withTF32 match kernels of cuBLAS and cuDNN for devices without TF32, and for later ones.
var (
	beforeTF32 = regexp.MustCompile(`volta_|turing_`)
	withTF32   = regexp.MustCompile(`ampere_|cutlass_[89]|sm(?:8|9|1\d)\d_`)
)

// Types and Layouts match operations that change the type or the layout of tensors: names of recorders and of ONNX, and
// kernels of cuDNN and MIOpen.
var (
	Types   = regexp.MustCompile(`(?i)^(aten::)?(to|_to_copy|cast|astype|type_as|convert_element_type)$`)
	Layouts = regexp.MustCompile(`(?i)^(aten::)?(contiguous|reorder(in|out)put)$|` +
		`nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|tensorTransform|batched_transpose`)
)

// ConversionOf has the effect of PyTorch's converting operators.
var ConversionOf = map[string]string{
	"aten::to": "type", "aten::_to_copy": "type", "aten::type_as": "type",
	"aten::contiguous": "layout", "aten::clone": "data", "aten::cat": "data", "aten::repeat": "data",
	"aten::index": "data", "aten::index_select": "data", "aten::gather": "data",
}

// Products are the products of 32-bit numbers without tensor cores.
type Products struct {
	List      []Product
	Count, NS int64
	// Rate is " at N FLOP/s" over those with known FLOPs, "" unless these take half of the time.
	Rate string
	// IsBeforeTF32 is set if all kernels of a known generation are for devices without TF32.
	IsBeforeTF32 bool
}

// Product is the products among the operations of a name.
type Product struct {
	Name  string
	part  float64    // of the time of the name
	known work.Plain // those of known work
	bytes int64      // that these move
}

// OnTensorCores returns the time of all operations of the name as a part of its own, with the products on tensor cores.
func (p *Product) OnTensorCores(all []peaks.Device) float64 {
	return 1 - p.part*(1-p.known.OnTensorCores(p.bytes, all))
}

// PlainProducts returns the products among operations, by name, or by rate and type.
func PlainProducts(operations []profile.Operation) (p Products) {
	var flops int64
	var counted float64 // the time of those with FLOPs
	isLate := false
	for i := range operations {
		o := &operations[i]
		plain := strings.ToLower(o.Operation)
		p.IsBeforeTF32 = p.IsBeforeTF32 || beforeTF32.MatchString(plain)
		isLate = isLate || withTF32.MatchString(plain)
		on := o.Plain
		x := Product{Name: o.Operation, known: on}
		if plainCores.MatchString(plain) {
			on = work.Plain{Count: o.Count, SumNS: o.SumNS}
			if x.known = on; o.Roofline != nil {
				x.known.SumNS, x.known.FLOPs, x.bytes = o.Roofline.SumNS, o.Roofline.FLOPs, o.Roofline.MovedBytes
			}
		}
		if o.Side != "" || on.Count == 0 || tensorNames.MatchString(plain) {
			continue
		}
		x.part = float64(on.SumNS) / float64(o.SumNS)
		p.List = append(p.List, x)
		p.Count += on.Count
		p.NS += on.SumNS
		switch {
		case o.Plain.FLOPs > 0:
			flops += o.Plain.FLOPs
			counted += float64(o.Plain.SumNS)
		case o.FLOPs > 0 && o.FLOPsPerSecond.Known:
			flops += o.FLOPs
			counted += float64(o.FLOPs) / o.FLOPsPerSecond.V * 1e9
		}
	}
	p.IsBeforeTF32 = p.IsBeforeTF32 && !isLate
	if 2*counted > float64(p.NS) {
		p.Rate = " at " + units.FLOPs(int64(float64(flops)/counted*1e9)) + "/s"
	}
	return p
}

// engine matches operations of engines that serve a model, without a backward pass.
var engine = regexp.MustCompile(`vllm::|sglang|trtllm`)

// AreOfEngine reports whether operations are of an engine that serves a model.
func AreOfEngine(operations []profile.Operation) bool {
	return slices.ContainsFunc(operations, func(o profile.Operation) bool { return engine.MatchString(o.Operation) })
}

// Few sums up the long launches of a kernel on few threads.
type Few struct {
	Name           string
	Count, Threads int64 // the largest number of threads
	NS             int64
}

// OnFewThreads returns the kernels with launches of at least 100 µs on few threads, the longest sum first.
func OnFewThreads(f *trace.Forest) (all []Few) {
	const long = 100_000
	if f == nil {
		return nil
	}
	at := make(map[int32]int) // in all, by name
	for _, r := range f.Devices.ByStart {
		threads := f.FewThreads(r)
		if threads == 0 || f.Kind(r) != op.KindCompute || f.Duration(r) < long {
			continue
		}
		i, is := at[f.Name(r)]
		if !is {
			i = len(all)
			at[f.Name(r)] = i
			all = append(all, Few{Name: f.RowName(r)})
		}
		all[i].Count++
		all[i].NS += f.Duration(r)
		all[i].Threads = max(all[i].Threads, threads)
	}
	slices.SortStableFunc(all, func(a, b Few) int { return int(min(1, max(-1, b.NS-a.NS))) })
	return all
}
