package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/check"
)

// The error of a typical mistake names the fault, and what to write instead.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ops.jsonl": anOperation, "text": "hello", "other.json": `{"foo":1}`,
	} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	t.Chdir(dir)
	for _, test := range []struct {
		args, want string
	}{
		// The command.
		{"ops.jsonl", `'optrace report ops.jsonl' profiles the operations in it`},
		{"reprot ops.jsonl", `unknown command "reprot"; did you mean report?`},
		{"help exit-code", `unknown command "exit-code"; did you mean exit-codes?`},
		{"version now", `version takes no arguments`},
		{"completion tcsh", `which shell? There are scripts for bash, zsh, fish`},
		{"demo", `which recording? There are gpu and server`},
		{"demo cpu", `unknown recording "cpu"; did you mean gpu? There are gpu, server`},

		// Its inputs and its output.
		{"report", `no input; use - for standard input`},
		{"report -html ops.jsonl", `no input: "ops.jsonl" is the FILE of -html; use - for standard input`},
		{"report missing.jsonl", `missing.jsonl: no such file or directory`},
		{"report http://localhost/ops.jsonl", `http://localhost/ops.jsonl is no file: download it first`},
		{"report text", `text: unknown format: starts with "hello"; tried entries-jsonl, `},
		{"report other.json", `other.json: unknown format: JSON with the keys "foo"; tried `},
		{"report empty", `directory empty holds no files`},
		{"report -o ops.jsonl ops.jsonl", `the output is the same file as the input ops.jsonl; write to another file`},
		{"convert -to csv -o none/x ops.jsonl", `creating output: open none/x: no such file or directory`},
		{"convert ops.jsonl", `no -to; formats are entries, trace, `},
		{"diff ops.jsonl", `give one base and one head, or put -- between several of each`},
		{"mcp none", `none: no such file or directory`},

		// Its flags.
		{"report ops.jsonl -top", `flag needs an argument: -top`},
		{"report -json -csv ops.jsonl", `-json, -csv and -markdown exclude each other`},
		{"report -html x -section idle ops.jsonl", `-html shows all sections: omit -section`},
		{"convert -to csv -by device ops.jsonl", `-by needs -to profile`},
		{"report -width 10 ops.jsonl", `-width "10": it is not a number of at least 60`},
		{"report -j ops.jsonl", `unknown flag "-j"; did you mean -json?`},
		{"whatif -change faster ops.jsonl", `"faster": a change is WHAT SELECT, such as "0.5x matmul"`},
		{"whatif -change nowait ops.jsonl", `a change is WHAT SELECT`},
		{"correlate -jaeger localhost:16686 ops.jsonl", `"localhost:16686" is no http:// or https:// URL`},
		{"correlate -trace 12 ops.jsonl", `"12" is not a trace id of 32 hexadecimal digits`},
		{"mcp -http 8319", `missing port in address; write HOST:PORT`},
		{"report -section all,idle ops.jsonl", `-section "all,idle": all includes the others; write all alone`},
		{"report -section idle, ops.jsonl", `-section "idle,": a name is missing; write NAME or NAME,NAME`},
		{"report -section idel ops.jsonl", `unknown section "idel"; did you mean idle? There are all, summary, `},
		{"report -by device, ops.jsonl", `-by "device,": a key is missing; write KEY or KEY,KEY`},
		{"report -by ,device ops.jsonl", `-by ",device": a key is missing`},
		{"report -by devise ops.jsonl", `-by: unknown key "devise"; did you mean device? There are operation, kind, `},
		{"convert -to profile -by shap ops.jsonl", `-by: unknown key "shap"; did you mean shape? There are `},
		{"report -where devise=cpu ops.jsonl", `-where "devise=cpu": unknown key "devise"; did you mean device?`},
		{"report -where device ops.jsonl", `-where: "device" is not of the form KEY=VALUE, such as device=gpu:0`},
		{"report -top x ops.jsonl", `-top "x": it is not a whole number, such as 10`},
		{"report -hotspot-bytes 1e99 ops.jsonl", `-hotspot-bytes "1e99": it is not a whole number`},
		{"report -min-comm-ratio x ops.jsonl", `-min-comm-ratio "x": it is not a number, such as 0.5`},
		{"report -open=x ops.jsonl", `-open "x": it is neither true nor false`},
		{"report -max-memory 1Q ops.jsonl", `-max-memory: "1Q" is not a number of bytes such as 64M or 1.5G`},
		{"correlate -since 1 ops.jsonl", `-since "1": it is not a duration, such as 30s or 10m`},
		{"report -peaks h100 ops.jsonl", `unknown device "h100"; did you mean nvidia-h100-sxm or nvidia-h100-pcie or `},
		{"report -jsno ops.jsonl", `unknown flag "-jsno"; did you mean -json? There are -align-clocks, `},
		{"report -format oltp ops.jsonl", `-format: unknown format "oltp"; did you mean otlp? There are entries, `},
		{"convert -to entrys ops.jsonl", `unknown format "entrys"; did you mean entries? There are entries, `},
		{"convert -output x ops.jsonl", `unknown flag -output; did you mean -o?`},
		{"serve -push http://localhost:4318", `-push was removed: write profiles by optrace convert -to otlp-profiles`},
		{"serve -addr", `unknown flag -addr; did you mean -listen?`},
		{"serve -listen 8080", `missing port in address; write HOST:PORT, such as 127.0.0.1:8318`},
		{"serve -otlp-grpc :99999 -otlp-http - -listen :0", `listen tcp: address 99999: invalid port; write HOST:PORT`},
	} {
		code, _, errs := ran(t, strings.Fields(test.args)...)
		if code == exit.OK || !strings.Contains(errs, test.want) {
			t.Errorf("%s: exit code %d, %s\nwant %s", test.args, code, errs, test.want)
		}
	}
}
