package main

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

// The error of a typical mistake in a command line names the fault and valid values.
func TestMistakes(t *testing.T) {
	in := tempInput(t, "ops.jsonl", anOperation)
	for _, test := range []struct {
		args, want string
	}{
		{"report -section all,idle", `-section "all,idle": all includes the others; write all alone`},
		{"report -section idle,", `-section "idle,": a name is missing; write NAME or NAME,NAME`},
		{"report -section idel", `unknown section "idel"; did you mean idle? There are all, summary, `},
		{"report -by device,", `-by "device,": a key is missing; write KEY or KEY,KEY`},
		{"report -by ,device", `-by ",device": a key is missing`},
		{"report -by devise", `-by: unknown key "devise"; did you mean device? There are operation, kind, `},
		{"convert -to profile -by shap", `-by: unknown key "shap"; did you mean shape? There are `},
		{"report -where devise=cpu", `-where "devise=cpu": unknown key "devise"; did you mean device? There are `},
		{"report -where device", `-where: "device" is not of the form KEY=VALUE, such as device=gpu:0`},
		{"report -top x", `-top "x": it is not a whole number, such as 10`},
		{"report -hotspot-bytes 99999999999999999999",
			`-hotspot-bytes "99999999999999999999": it is not a whole number`},
		{"report -min-comm-ratio x", `-min-comm-ratio "x": it is not a number, such as 0.5`},
		{"report -open=x", `-open "x": it is neither true nor false`},
		{"report -max-memory 1Q", `-max-memory: "1Q" is not a number of bytes such as 64M or 1.5G`},
		{"correlate -since 1", `-since "1": it is not a duration, such as 30s or 10m`},
		{"report -peaks h100", `unknown device "h100"; did you mean nvidia-h100-sxm or nvidia-h100-pcie? There are `},
		{"report -jsno", `unknown flag "-jsno"; did you mean -json? There are -align-clocks, `},
		{"report -format oltp", `-format: unknown format "oltp"; did you mean otlp? There are entries, `},
		{"convert -to entrys", `unknown format "entrys"; did you mean entries? There are entries, `},
		{"convert -output x", `unknown flag -output; did you mean -o?`},
		{"serve -push http://localhost:4318", `-push was removed: write profiles by optrace convert -to otlp-profiles`},
		{"convert -to otlp-profiles -push http://localhost:4318", `-push was removed: write profiles by optrace`},
		{"serve -addr", `unknown flag -addr; did you mean -listen?`},
		{"serve -addr :8080", `unknown flag -addr; did you mean -listen?`},
		{"serve -listen 8080", `missing port in address; write HOST:PORT, such as 127.0.0.1:8318`},
		{"serve -otlp-grpc :99999 -otlp-http - -listen 127.0.0.1:0",
			`-otlp-grpc: listen tcp: address 99999: invalid port; write HOST:PORT`},
	} {
		code, _, errs := ran(t, append(strings.Fields(test.args), in)...)
		if code == exit.OK || !strings.Contains(errs, test.want) {
			t.Errorf("%s: exit code %d, %s\nwant %s", test.args, code, errs, test.want)
		}
	}
}
