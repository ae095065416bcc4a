package entries_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// A Reader has a fast path for lines in canonical form and a general path, the one of DecodeLine. The tests in this
// file compare the two.

// outcome is a record or an error.
type outcome struct {
	Record op.Record
	Err    error
}

// readWith returns the outcomes of r on text.
func readWith(r *entries.Reader, text []byte) (all []outcome) {
	r.Reset(bytes.NewReader(text), "text", op.Position{})
	for rec, err := range r.Records() {
		all = append(all, outcome{recordtest.Clone(rec), err})
	}
	return all
}

// decodeLines returns the outcomes of DecodeLine on the lines of text.
func decodeLines(text []byte) (all []outcome) {
	number := int64(0)
	offset := int64(0)
	for line := range bytes.Lines(text) {
		number++
		if content, complete := bytes.CutSuffix(line, []byte("\n")); len(bytes.Trim(content, " \t\r")) > 0 {
			rec, err := entries.DecodeLine(bytes.TrimSuffix(content, []byte("\r")))
			if bad, ok := errors.AsType[*op.SyntaxError](err); ok {
				bad.File = "text"
				bad.Line = number
				bad.Offset = offset + bad.Offset
				bad.Truncated = bad.Truncated && !complete
			}
			all = append(all, outcome{rec, err})
		}
		offset += int64(len(line))
	}
	return all
}

func checkSame(t *testing.T, what string, want, got []outcome, texts ...[]byte) {
	t.Helper()
	if !reflect.DeepEqual(want, got) { // cmp takes its time
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		t.Fatalf("%s (-want +got):\n%s\nread:\n%s", what, cmp.Diff(want, got, all),
			bytes.Join(texts, []byte("\nand:\n")))
	}
}

// checkLines checks that a Reader reads text as DecodeLine reads its lines.
func checkLines(t *testing.T, text []byte) {
	t.Helper()
	if bytes.Contains(text, []byte("schema")) || bytes.HasPrefix(text, []byte("\xef")) ||
		bytes.HasPrefix(text, []byte("\xff")) || bytes.HasPrefix(text, []byte("\xfe")) {
		return // final errors and byte order marks are the Reader's alone
	}
	checkSame(t, "DecodeLine against Reader", decodeLines(text), readWith(entries.NewReader(nil, ""), text), text)
}

// checkIndependence checks that a Reader reads text alike whatever it has read before.
func checkIndependence(t *testing.T, before, text []byte) {
	t.Helper()
	r := entries.NewReader(nil, "")
	readWith(r, before)
	checkSame(t, "a new Reader against a used one", readWith(entries.NewReader(nil, ""), text), readWith(r, text),
		before, text)
}

// lineOf returns a line with members of few distinct values, in the usual order unless it is odd.
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
		`"kind":` + pick(`"compute"`, `"collective"`, `"bogus"`, `""`),
		`"kind_rule":` + pick(`"name"`, `"attribute"`, `"?"`),
		`"dtype":` + pick(`"f32"`, `"f3"`), `"input_dtypes":` + pick(`["f32"]`, `["f32","i8"]`),
		`"start_unix_ns":` + pick("1760000000000000000", "9223372036854775807", "null", "0"),
		`"duration_ns":` + pick("600", "601", "9223372036854775807", "-3"), `"rank":` + pick("0", "1", "10"),
		`"stream":` + pick("7", "-1"),
		`"trace_id":` + pick(`"4d02081d276cbb954beb68be77c6566e"`, `"4D02081d276cbb954beb68be77c6566e"`, `"0"`, `""`),
		fmt.Sprintf(`"span_id":"%016x"`, rng.IntN(4)), `"parent_span_id":"ca979163b1fe8ba7"`, `"root":"r"`,
		`"service":"svc"`, `"scope":"lib"`, `"error":` + pick(`"oom"`, "null"), `"flops":` + pick("12", "1200"),
		`"path":"a.b"`, `"side":` + pick(`"host"`, `"?"`), `"attrs":` + pick(`{"k":"v"}`, `{"k":1}`, `{}`),
		`"warn":["bad_id"]`, `"collective":{"name":"all_reduce","sequence":4}`, `"new":{"a":[1]}`,
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

func TestReaderOfRandomLines(t *testing.T) {
	for seed := range cases.Numbers(t, 600) {
		rng := rand.New(rand.NewPCG(seed, 7))
		lines := make([]string, 1+rng.IntN(8))
		for i := range lines {
			lines[i] = lineOf(rng)
		}
		whole := string(optest.RandomEntry(rng).AppendJSON(nil))
		lines = append(lines, whole, whole[:rng.IntN(len(whole))])
		before := linesOf(rng, lines)
		lines = append(lines, lineOf(rng), lineOf(rng))
		text := linesOf(rng, lines)
		checkLines(t, text)
		checkIndependence(t, before, text)
	}
}

// fullLine has every member of the canonical form.
const fullLine = `{"step":-3,"operation":"matmul","device_id":"cuda:0","input_shapes":[[64,784],[],null,[-1,0]],` +
	`"output_shape":[64,256],` +
	`"duration_us":100.25,"output_elements":16384,"memory_bytes":65536,"kind":"collective","kind_rule":"name",` +
	`"dtype":"f32",` +
	`"start_unix_ns":1760000000000557445,"duration_ns":100250,"launch_unix_ns":1760000000000557000,"stream":7,` +
	`"rank":1,"flops":25690112,` +
	`"trace_id":"af05757baafa7b1b1ab4219cadb9967c","span_id":"eca553aba8d6b263","parent_span_id":"b9870bd3544e583b",` +
	`"root":"step",` +
	`"root_span_id":"0001219cadb9967c","service":"trainer","scope":"example.com/trainer","path":"encoder.0",` +
	`"input_dtypes":["f32","odd"],` +
	`"collective":{"name":"all_reduce","group":"dp","group_size":8,"sequence":41,"peer_rank":-1,"in_elements":5,` +
	`"out_elements":6}}`

// fullSpan is fullLine for an ancestry record.
const fullSpan = `{"span":{"name":"GET /","trace_id":"af05757baafa7b1b1ab4219cadb9967c","span_id":"eca553aba8d6b263",` +
	`"parent_span_id":"b9870bd3544e583b","parent_remote":true,"start_unix_ns":1760000000000557445,` +
	`"duration_ns":100250,` +
	`"service":"web"}}`

// AppendJSON writes canonical form, except for escaped strings and rare members.
func TestWrittenLinesAreCanonical(t *testing.T) {
	for _, line := range []string{fullLine, fullSpan} {
		if !entries.IsCanonical([]byte(line + "\n")) {
			t.Errorf("not canonical: %s", line)
		}
	}
	n := 0
	for seed := range cases.Numbers(t, 3000) {
		rec, err := entries.DecodeLine([]byte(lineOf(rand.New(rand.NewPCG(seed, 3)))))
		if err != nil || rec.Entry == nil || rec.Entry.AdjustedCount != 0 {
			continue
		}
		n++
		if line := append(rec.Entry.AppendJSON(nil), '\n'); !entries.IsCanonical(line) && !isUnusual(line) {
			t.Errorf("not canonical: %s", line)
		}
	}
	if n == 0 || cases.All() && n < 500 {
		t.Errorf("only %d entries", n)
	}
}

// isUnusual reports whether a written line is left to the general reader.
func isUnusual(line []byte) bool {
	for _, text := range []string{
		`\`, `"dtype":"f3"`, `"collective":{}`, `9223372036854775.807`, `"error":`, `"side":`, `"attrs":`, `"warn":`,
	} {
		if bytes.Contains(line, []byte(text)) {
			return true
		}
	}
	return false
}

// The general path reads every line that differs from a canonical one in a byte, or lacks some.
func TestReaderOfAlteredLines(t *testing.T) {
	for _, line := range []string{fullLine, fullSpan} {
		checkLines(t, []byte(line+"\n"+line+"\n"))
		var text bytes.Buffer
		for i := range cases.Some(t, 30, len(line)) {
			for _, c := range "\"\\ 0-n,:}]\x01\xff" {
				fmt.Fprintf(&text, "%s%c%s\n", line[:i], c, line[i+1:])
			}
			for n := 1; n <= 20 && i+n < len(line); n++ {
				fmt.Fprintf(&text, "%s%s\n", line[:i], line[i+n:])
			}
			fmt.Fprintf(&text, "%s%s\n", line[:i], line[i:i+1]+line[i:]) // the byte twice
		}
		checkLines(t, text.Bytes())
	}
}

// Values at the limits, in canonical form.
func TestReaderOfExtremeValues(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("7,", op.MaxRank), ",")
	inputs := strings.TrimSuffix(strings.Repeat("[1],", op.MaxInputs), ",")
	var text strings.Builder
	for _, change := range [][2]string{
		{`[64,256]`, "[" + long + "]"}, {`[64,256]`, "[" + long + ",1]"}, {`[64,256]`, "null"}, {`[64,256]`, "[]"},
		{`[64,256]`, "[-2]"}, {`[64,256]`, "[4611686018427387904,8]"}, {`[64,256]`, "[9223372036854775808]"},
		{`[64,256]`, "[1,]"}, {`[64,256]`, "[,1]"}, {`[[64,784],[],null,[-1,0]]`, "[" + inputs + "]"},
		{`[[64,784],[],null,[-1,0]]`, "[" + inputs + ",[1]]"}, {`[[64,784],[],null,[-1,0]]`, "null"},
		{`[[64,784],[],null,[-1,0]]`, "[]"}, {`[[64,784],[],null,[-1,0]]`, "[[1],]"}, {`"cuda:0"`, "null"},
		{`"step":-3`, `"step":null`}, {`"matmul"`, `""`}, {`"matmul"`, "\"\xff\""}, {`"matmul"`, "\"\u2028é\""},
		{`100.25`, "9223372036854775.807"}, {`100.25`, "100.2505"}, {`100.25`, "0"}, {`100.25`, "00"},
		{`100.25`, "1e2"}, {`100.25`, "null"},
		{`:16384`, ":null"}, {`:65536`, ":null"}, {`:16384`, ":9223372036854775808"}, {`:16384`, ":-1"},
		{`:16384`, ":016384"},
		{`1760000000000557445`, "9223372036854775807"},
		{`1760000000000557445`, "9223372036854675557"}, {`1760000000000557445`, "9223372036854675558"},
		{`1760000000000557445`, "0"}, {`"duration_ns":100250`, `"duration_ns":-1`},
		{`"af05757baafa7b1b1ab4219cadb9967c"`, `"00000000000000000000000000000000"`},
		{`"eca553aba8d6b263"`, `"0000000000000000"`},
		{`"b9870bd3544e583b"`, `"0000000000000000"`}, {`"eca553aba8d6b263"`, `"ECA553ABA8D6B263"`},
		{`"eca553aba8d6b263"`, `""`}, {`["f32","odd"]`, "[]"}, {`["f32","odd"]`, "null"},
		{`"dtype":"f32"`, `"dtype":"torch.float16"`}, {`"dtype":"f32"`, `"dtype":"odd"`},
		{`"dtype":"f32"`, `"dtype":""`}, {`"kind":"collective"`, `"kind":""`},
		{`"kind":"collective"`, `"kind":"odd"`}, {`"kind_rule":"name"`, `"kind_rule":"odd"`},
		{`"kind":"collective","kind_rule":"name",`, ``}, {`"name":"all_reduce",`, ``},
		{`"group_size":8`, `"group_size":null`},
	} {
		line := strings.Replace(fullLine, change[0], change[1], 1)
		if line == fullLine {
			t.Errorf("%s is not in the line", change[0])
		}
		text.WriteString(line + "\n")
	}
	checkLines(t, []byte(text.String()))
}

func FuzzReaderLines(f *testing.F) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		lines := []string{lineOf(rng), lineOf(rng), lineOf(rng)}
		f.Add(linesOf(rng, lines), linesOf(rng, lines))
	}
	f.Add([]byte(fullLine+"\n"), []byte(fullSpan+"\n"+fullLine+"\n"))
	f.Fuzz(func(t *testing.T, before, text []byte) {
		checkLines(t, text)
		checkIndependence(t, before, text)
	})
}
