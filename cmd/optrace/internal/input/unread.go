package input

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// Unread returns the error of inputs without readable spans; nil for empty and all other inputs. The output has the
// same figures.
func Unread(inputs []string, in *analyze.Envelope) error {
	others := in.SkippedBy[string(op.SkipOtherSignal)]
	if in.Spans > 0 || in.Malformed+others == 0 {
		return nil
	}
	what := "only " + records(in.Malformed)
	if others > 0 {
		what = "OTLP " + cmp.Or(strings.Join(in.Signals, " and "), "metrics, logs or profiles") + ", not spans"
		if in.Malformed > 0 {
			what += ", and " + records(in.Malformed)
		}
	}
	if len(inputs) > 1 {
		return exit.Input(fmt.Errorf("the inputs hold %s", what))
	}
	name := inputs[0]
	if name == ingest.Stdin {
		name = "standard input"
	}
	return exit.Input(fmt.Errorf("%s holds %s", name, what))
}

func records(n int64) string {
	if n == 1 {
		return "1 unreadable record"
	}
	return fmt.Sprintf("%d unreadable records", n)
}
