package op_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
)

// readWith returns what a Reader makes of text, a line per record or error.
func readWith(r *op.Reader, text []byte) string {
	r.Reset(bytes.NewReader(text), "familiar", op.Position{})
	var b strings.Builder
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return b.String()
		case err != nil:
			fmt.Fprintln(&b, "error:", err)
			if _, ok := errors.AsType[*op.SyntaxError](err); !ok {
				return b.String()
			}
		case rec.Entry != nil:
			fmt.Fprintf(&b, "%s %v\n", rec.Entry.AppendJSON(nil), rec.Entry.Warn)
		default:
			fmt.Fprintf(&b, "%+v %+v %+v %+v %+v\n", rec.Span, rec.Resource, rec.Gap, rec.Batch, rec.Skipped)
		}
	}
}

// checkFamiliar checks that a Reader that has read a a few times reads b as one
// that has read nothing.
func checkFamiliar(t *testing.T, a, b []byte) {
	t.Helper()
	want := readWith(op.NewReader(nil, ""), b)
	r := op.NewReader(nil, "")
	for range 3 {
		readWith(r, a)
	}
	if diff := cmp.Diff(want, readWith(r, b)); diff != "" {
		t.Fatalf("a familiar reader reads otherwise (-fresh +familiar)\n%s\nafter:\n%s\nread:\n%s", diff, a, b)
	}
}

// lineOf returns a line whose members are drawn from few values, in the usual
// order unless it is odd.
func lineOf(rng *rand.Rand) string {
	pick := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
	members := []string{
		`"step":` + pick("null", "3", "4", `"5"`),
		`"operation":` + pick(`"matmul"`, `"relu"`, `"all_reduce"`, `"mat\u006dul"`, "\"bad\xff\"", `""`),
		`"device_id":` + pick(`"cuda:0"`, `"cuda:01"`, "null", "7"),
		`"input_shapes":` + pick(`[[2,3]]`, `[[2,3],[3]]`, `[[2,"x"]]`, "null", `[]`),
		`"output_shape":` + pick(`[2,3]`, `[2,30]`, `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]`, `[]`, "null"),
		`"duration_us":` + pick("0.6", "1", "12.5", "1e3", "null", `"7"`, "-1"),
	}
	rest := []string{
		`"output_elements":` + pick("6", "7", "null", "-1"), `"memory_bytes":` + pick("24", "null", "2.5"),
		`"kind":` + pick(`"compute"`, `"collective"`, `"bogus"`, `""`), `"kind_rule":` + pick(`"name"`, `"attribute"`, `"?"`),
		`"dtype":` + pick(`"f32"`, `"f3"`), `"input_dtypes":` + pick(`["f32"]`, `["f32","i8"]`),
		`"start_unix_ns":` + pick("1760000000000000000", "9223372036854775807", "null", "0"),
		`"duration_ns":` + pick("600", "601", "9223372036854775807", "-3"), `"rank":` + pick("0", "1", "10"), `"stream":` + pick("7", "-1"),
		`"trace_id":` + pick(`"4d02081d276cbb954beb68be77c6566e"`, `"4D02081d276cbb954beb68be77c6566e"`, `"0"`, `""`),
		fmt.Sprintf(`"span_id":"%016x"`, rng.IntN(4)), `"parent_span_id":"ca979163b1fe8ba7"`, `"root":"r"`, `"service":"svc"`, `"scope":"lib"`,
		`"error":` + pick(`"oom"`, "null"), `"flops":` + pick("12", "1200"), `"path":"a.b"`, `"side":` + pick(`"host"`, `"?"`),
		`"attrs":` + pick(`{"k":"v"}`, `{"k":1}`, `{}`), `"warn":["bad_id"]`, `"collective":{"name":"all_reduce","sequence":4}`, `"new":{"a":[1]}`,
		`"launch_unix_ns":5`, `"adjusted_count":2`,
	}
	for _, m := range rest {
		if rng.IntN(3) > 0 {
			members = append(members, m)
		}
	}
	switch rng.IntN(12) {
	case 0:
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	case 1:
		members = append(members, members[rng.IntN(len(members))])
	case 2:
		members = append(members, `"operation":"again"`)
	case 3:
		members = members[1:]
	}
	text := "{" + strings.Join(members, ",") + "}"
	switch rng.IntN(20) {
	case 0:
		text = strings.ReplaceAll(text, `,"`, `, "`)
	case 1:
		text = text[:rng.IntN(len(text))]
	case 2:
		text += " "
	case 3:
		text += "x"
	}
	return text
}

// linesOf returns lines drawn from few.
func linesOf(rng *rand.Rand, lines []string) []byte {
	var b bytes.Buffer
	for range 1 + rng.IntN(20) {
		b.WriteString(lines[rng.IntN(len(lines))] + "\n")
	}
	return b.Bytes()
}

func TestFamiliarReaderOfRandomLines(t *testing.T) {
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 7))
		lines := make([]string, 1+rng.IntN(8))
		for i := range lines {
			lines[i] = lineOf(rng)
		}
		a := linesOf(rng, lines)
		lines = append(lines, lineOf(rng), lineOf(rng))
		checkFamiliar(t, a, linesOf(rng, lines))
	}
}

// Lines that begin alike and differ later.
func TestFamiliarReaderTellsLinesApart(t *testing.T) {
	base := `{"step":1,"operation":"matmul","device_id":"cuda:0","duration_us":0.6,"output_elements":6,"dtype":"f32","duration_ns":600}`
	others := []string{
		strings.Replace(base, `"f32"`, `"f16"`, 1),
		strings.Replace(base, `"output_elements":6`, `"output_elements":60`, 1),
		strings.Replace(base, `:600}`, `:600,"error":"oom"}`, 1),
		strings.Replace(base, `:600}`, `:600,"operation":"relu"}`, 1),
		strings.Replace(base, `"step":1`, `"step":1,"rank":3`, 1),
		strings.Replace(base, `"step":1`, `"rank":3,"step":1`, 1),
		strings.Replace(base, `"step":1`, `"duration_us":9,"step":1`, 1),
		strings.Replace(base, `"step":1,`, ``, 1),
		strings.Replace(base, `:600}`, `:600`, 1),
		strings.Replace(base, `:600}`, `:600}}`, 1),
		strings.Replace(base, `:600}`, `:600} `, 1),
	}
	for _, other := range others {
		checkFamiliar(t, []byte(base+"\n"), []byte(other+"\n"+base+"\n"))
		checkFamiliar(t, []byte(other+"\n"), []byte(base+"\n"+other+"\n"))
		checkFamiliar(t, []byte(base+"\n"+other+"\n"), []byte(other+"\n"+base+"\n"))
	}
}

func FuzzFamiliarReader(f *testing.F) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		lines := []string{lineOf(rng), lineOf(rng), lineOf(rng)}
		f.Add(linesOf(rng, lines), linesOf(rng, lines))
	}
	f.Fuzz(checkFamiliar)
}

// A Template of a span's attributes stands for them, in a Builder that held
// another span before.
func TestTemplateConformance(t *testing.T) {
	b, other := op.NewBuilder(nil), op.NewBuilder(nil)
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		other.Reset()
		for _, a := range c.Span.Attributes {
			feed(other, a)
		}
		template, ok := other.Template()
		if ok {
			other.Reset()
			other.Ints("tensor.output.shape", []int64{7, 7, 7}) // a template keeps nothing of the builder's
			b.SetTemplate(&template)
		} else {
			b.Reset()
			for _, a := range c.Span.Attributes {
				feed(b, a)
			}
		}
		set(t, b, c)
		return b.Entry()
	})
}
