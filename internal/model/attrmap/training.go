package attrmap

import (
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// training are the spans of Megatron-LM's telemetry that are operations of the rank's device. Names are those behind
// "megatron." or, of later versions, "nv.mcore." and "nv.mlm." (NVIDIA/Megatron-LM docs/user-guide/observability).
var training = []struct{ name, phase, collective string }{
	{"microbatch.forward", "forward", ""}, {"microbatch.backward", "backward", ""}, {"layer.", "", ""},
	{"p2p.send_", "", "send"}, {"p2p.recv_", "", "recv"}, {"grad_sync.", "", "all_reduce"}, {"optimizer_step", "optimizer", ""},
}

// isTraining reports whether the span is an operation of training, and sets what its name says.
func (b *Builder) isTraining() bool {
	name := b.spanName
	for _, prefix := range []string{"megatron.", "nv.mcore.", "nv.mlm.train."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
			break
		}
	}
	if len(name) == len(b.spanName) {
		return false
	}
	for _, t := range training {
		if !strings.HasPrefix(name, t.name) {
			continue
		}
		b.Str(attrkey.Name, b.spanName)
		b.Str(attrkey.Device, "gpu")
		b.Str(attrkey.Kind, op.KindCompute.String())
		if t.phase != "" {
			b.Str(attrkey.Phase, t.phase)
		}
		if t.collective != "" {
			b.Str(attrkey.Kind, op.KindCollective.String())
			b.Str(attrkey.Collective, t.collective)
		}
		return true
	}
	return false
}
