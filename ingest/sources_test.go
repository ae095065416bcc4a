package ingest_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// hostsOf returns the attribute host.name of each entry by step, read by several workers in parts of a size.
func hostsOf(t *testing.T, path string, size, workers int) map[int64]string {
	t.Helper()
	m := new(attr.Mapping)
	m.Keep("host.name")
	in := ingest.Options{Mapping: m}.Open(path)
	in.SetPartSize(size)
	hosts := make(map[int64]string)
	var mu sync.Mutex
	err := in.Read(workers, func(_ int, _, _ int64, records iter.Seq2[op.Record, error]) error {
		for rec, err := range records {
			if err != nil {
				return err
			}
			if rec.Entry == nil {
				continue
			}
			if a := opmodel.FindAttr(rec.Entry.Attrs, "host.name"); a != nil {
				mu.Lock()
				hosts[rec.Entry.Step.V] = a.Value
				mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return hosts
}

// process appends batches to a file like the exporter: a batch record, a header if the resource changed, and entries.
// Some have their header in front of the first batch record.
type process struct {
	name, host   string
	headed, last bool
	seq          int64
}

func (p *process) write(rng *rand.Rand, b *bytes.Buffer, hosts map[int64]string) {
	header := func() {
		fmt.Fprintf(b, `{"schema":"optrace.entries/v1","resource":{"service":"s","attrs":{"host.name":%q}}}`+"\n",
			p.host)
		p.headed = true
	}
	if !p.headed && p.last {
		header()
	}
	fmt.Fprintf(b, `{"batch":{"writer":%q,"seq":%d,"entries":1}}`+"\n", p.name, p.seq)
	p.seq++
	if !p.headed {
		header()
	}
	for range 1 + rng.IntN(3) {
		if rng.IntN(8) == 0 { // a provider with another resource
			p.host += "'"
			header()
		}
		step := int64(len(hosts))
		e := &op.Entry{Step: op.Known(step), Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault,
			Service: "s"}
		hosts[step] = p.host
		if rng.IntN(8) == 0 {
			e.Attrs = []op.Attr{{Key: "host.name", Value: "own"}}
			hosts[step] = "own"
		}
		b.Write(append(e.AppendJSON(nil), '\n'))
		if rng.IntN(8) == 0 {
			b.WriteString("\n" + `{"span":{"name":"step","duration_ns":1}}` + "\n" + `{"gap":{"dropped":1}}` + "\n" +
				`{"later":1}` + "\n")
		}
	}
}

// At any part size and number of workers, entries have the attributes of their writers' resources.
func TestResourcesOfWriters(t *testing.T) {
	for seed := range cases.Numbers(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b bytes.Buffer
		want := make(map[int64]string)
		if rng.IntN(2) == 0 {
			fmt.Fprintln(&b, `{"schema":"optrace.entries/v1"}`)
		}
		processes := make([]process, 1+rng.IntN(4))
		for i := range processes {
			processes[i] = process{name: fmt.Sprint("w", i), host: fmt.Sprint("h", i), last: rng.IntN(2) == 0}
		}
		for range 12 {
			processes[rng.IntN(len(processes))].write(rng, &b, want)
		}
		file := filepath.Join(t.TempDir(), "ops.jsonl")
		check.OK(t, os.WriteFile(file, b.Bytes(), 0o600))
		for _, size := range []int{64, 300, 1 << 20} {
			for _, workers := range []int{1, 3} {
				if diff := cmp.Diff(want, hostsOf(t, file, size, workers)); diff != "" {
					t.Fatalf("seed %d, parts of %d bytes, %d workers (-want +got):\n%s\n%s", seed, size, workers, diff,
						b.Bytes())
				}
			}
		}
	}
}

// The lookup goes from an operation to its scope and then to its resource.
func TestInheritedAttributes(t *testing.T) {
	m := new(attr.Mapping)
	for _, key := range []string{"a", "b", "c", "service.name", "tensor.rank"} {
		m.Keep(key)
	}
	attr := func(key, value string) string { return `{"key":"` + key + `","value":{"stringValue":"` + value + `"}}` }
	inputs := map[string]string{
		"otlp.json": `{"resourceSpans":[{"resource":{"attributes":[` + attr("service.name", "svc") + `,` +
			attr("a", "resource") + `,` +
			attr("b", "resource") + `,` + attr("c", "resource") + `,{"key":"tensor.rank","value":{"intValue":"3"}}]},` +
			`"scopeSpans":[{"scope":{"name":"lib","attributes":[` + attr("a", "scope") + `,` + attr("b", "scope") +
			`]},"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"x",` +
			`"startTimeUnixNano":"5",` +
			`"endTimeUnixNano":"6","attributes":[` + attr("tensor.op.name", "x") + `,` + attr("a", "own") + `]}]}]}]}`,
		"ops.jsonl": `{"schema":"optrace.entries/v1","resource":{"service":"svc","rank":3,` +
			`"attrs":{"a":"resource","b":"resource","c":"resource"}}}` + "\n" +
			`{"operation":"x","duration_us":1,"service":"svc","attrs":{"a":"own"},` +
			`"extra":{"scope_attrs":{"a":"scope","b":"scope"}}}`,
	}
	for name, text := range inputs {
		path := filepath.Join(t.TempDir(), name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		for rec, err := range (ingest.Options{Mapping: m}).Open(path).Records() {
			check.OK(t, err)
			if rec.Entry == nil {
				continue
			}
			var got []string
			for _, a := range rec.Entry.Attrs {
				got = append(got, a.Key+"="+a.Value)
			}
			slices.Sort(got)
			check.Equal(t, name, "a=own b=scope c=resource service.name=svc tensor.rank=3", strings.Join(got, " "))
		}
	}
}
