package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The advice suits what communicates: a send may go on without its rank, a receive waits for its peer, and only
// collectives can start during the backward pass.
func TestCommunicationSaysWhatCanBeChanged(t *testing.T) {
	const ms = 1_000_000
	for _, test := range []struct {
		name        string
		collective  *op.Collective
		even, odd   int64 // ns of the calls
		says, tries string
	}{
		{"all_reduce", nil, ms, ms, "20.0 ms", "start collectives while the backward pass computes"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "all_to_all"}, ms, ms, "", "start collectives"},
		{"ncclDevKernel_SendRecv", nil, ms, ms, "", "exchange data on a stream of its own"},
		{"p2p.send_forward", &op.Collective{Name: "send"}, ms, ms, "", "send without waiting"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "send"}, ms, ms, "", "send without waiting"},
		{"p2p.recv_forward", &op.Collective{Name: "recv"}, ms / 5, 2 * ms, "wait 18.0 ms", "equal work"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "recv"}, ms / 5, 2 * ms, "wait 18.0 ms", "equal work"},
		{"p2p.recv_forward", &op.Collective{Name: "recv"}, ms, ms, "", ""},
	} {
		var r run
		for i := range 20 {
			r.launch("aten::mm", "gemm", op.KindCompute, 3*ms)
			ns := test.even
			if i%2 == 1 {
				ns = test.odd
			}
			r.launch("c10d", test.name, op.KindCollective, ns).Collective = test.collective
		}
		f := only(found(t, r.records...), "exposed_communication")
		if !strings.Contains(f.Text, test.says) || !strings.HasPrefix(f.Try, test.tries) && !strings.Contains(f.Try, test.tries) ||
			(f.Rule == "") != (test.tries == "") {
			t.Errorf("%s %v: %q, try %q", test.name, test.collective, f.Text, f.Try)
		}
		if test.says == "wait 18.0 ms" { // 20 calls of 0.2 ms take 18 ms less than as recorded
			check.Equal(t, test.name+" saved", true, f.SavedNS.V > 17*ms && f.SavedNS.V < 19*ms)
		}
	}
}
