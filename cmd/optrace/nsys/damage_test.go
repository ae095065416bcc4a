package nsys_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// A row with impossible values is reported with its table and number; the other rows are read.
func TestBadRows(t *testing.T) {
	f := read(database(t, small+`
		INSERT INTO StringIds VALUES (9, zeroblob(20));
		INSERT INTO StringIds VALUES (10, printf('%20000d', 1));
		INSERT INTO NVTX_EVENTS VALUES ('soon', 3, 59, 'a', 0, NULL), (5, 3, 59, 'a', 0, NULL), (1, 2, 'x', 'a', 0,
			NULL),
			(1, 2, 59, 'a', 0.5, NULL),
			(-9223372036854775807, 9223372036854775807, 59, 'a', 0, NULL), (1, 2, 59, printf('%30000d', 1), 0, NULL),
				(1, 2, 59, NULL, 0, 10),
			(1, 2, 59, 'a', zeroblob(5000000), NULL);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, demangledName, shortName)
			VALUES (x'00', 1, 0, 0, 1, 1), (1, 1.5, 0, 0, 1, 1);
		INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, bytes, copyKind) VALUES (1, 2, -1, -1,
			-5, 77);`))
	want := []string{
		"db: table StringIds, row 6: column value is a blob",
		"db: table NVTX_EVENTS, row 7: column start is text",
		"db: table NVTX_EVENTS, row 8: end 3 before start 5",
		"db: table NVTX_EVENTS, row 9: column eventType is text",
		"db: table NVTX_EVENTS, row 10: column globalTid is a floating-point number",
		"db: table NVTX_EVENTS, row 11: end 9223372036854775807 before start -9223372036854775807",
		"db: table NVTX_EVENTS, row 13: behind it, page 9960: a row of 5000013 bytes",
		"db: table CUPTI_ACTIVITY_KIND_KERNEL, row 4: column start is a blob",
		"db: table CUPTI_ACTIVITY_KIND_KERNEL, row 5: column end is a floating-point number",
	}
	if diff := cmp.Diff(want, f.errs); diff != "" || f.err != nil {
		t.Errorf("%v (-want +got):\n%s", f.err, diff)
	}
	for _, text := range []string{`"(text of 30000 bytes)"`, `"(text of 20000 bytes)"`, `"Memcpy kind 77"`} {
		if !strings.Contains(f.lines(), text) {
			t.Errorf("no %s", text)
		}
	}
}

// many returns a database with several pages per table: n more kernels and ranges.
func many(t testing.TB, n int) []byte {
	return database(t, small+fmt.Sprintf(`
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
			SELECT 4000 + i, 4001 + i, 0, 7, i, 0, 1, 1, 32, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL FROM n;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d)
		INSERT INTO NVTX_EVENTS SELECT 4000 + i, 4001 + i, 59, 'range ' || i, 0, NULL FROM n;`, n))
}

// A truncated database reports the loss. Flipped bits or swapped pages cost little time, and errors name the table.
func TestDamaged(t *testing.T) {
	const page = 512
	text := many(t, 300)
	check := func(t *testing.T, name string, damaged []byte) {
		t.Helper()
		start := time.Now()
		f := read(damaged)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
		for _, err := range append(f.errs, fmt.Sprint(f.err)) {
			if err != "<nil>" && !strings.Contains(err, "table") {
				t.Errorf("%s: an error without a table: %s", name, err)
			}
		}
	}
	for n := range cases.Some(t, 12, len(text)/page) {
		n = max(n, 1)
		f := read(text[:n*page])
		if f.err == nil && len(f.errs) == 0 {
			t.Errorf("cut off behind %d pages: %d entries without a word", n, len(f.entries))
		}
		check(t, fmt.Sprintf("cut off behind %d pages", n), text[:n*page])
		swapped := bytes.Clone(text)
		copy(swapped[n*page:][:page], text[len(text)-page:])
		check(t, fmt.Sprintf("page %d replaced", n), swapped)
	}
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		flipped := bytes.Clone(text)
		for range 1 + r.IntN(8) {
			flipped[16+r.IntN(len(text)-16)] ^= 1 << r.IntN(8)
		}
		check(t, fmt.Sprintf("seed %d", seed), flipped)
	})
}

// Pages that refer to each other, or several times to the same page, end with an error.
func TestCyclicPages(t *testing.T) {
	const page, interior = 512, 5
	text := many(t, 300)
	pages := 0
	for at := page; at < len(text); at += page {
		if text[at] != interior {
			continue
		}
		pages++
		cells := int(binary.BigEndian.Uint16(text[at+3:]))
		for name, target := range map[string]uint32{"itself": uint32(at/page) + 1, "its first child": 0} {
			cyclic := bytes.Clone(text)
			for i := range cells {
				cell := at + int(binary.BigEndian.Uint16(text[at+12+2*i:]))
				if target == 0 {
					target = binary.BigEndian.Uint32(text[cell:])
				}
				binary.BigEndian.PutUint32(cyclic[cell:], target)
			}
			f := read(cyclic)
			if name == "itself" && f.err == nil && len(f.errs) == 0 {
				t.Errorf("page %d refers to itself without a word", at/page+1)
			}
			if n := len(f.entries); n > len(text) {
				t.Errorf("page %d refers to %s: %d entries", at/page+1, name, n)
			}
		}
	}
	if pages < 2 {
		t.Errorf("%d interior pages", pages)
	}
}

// Held memory is reported and given back; an error of Hold ends the reading.
func TestMemory(t *testing.T) {
	text := many(t, 300)
	held := int64(0)
	most := int64(0)
	memory := ingest.Memory{Hold: func(n int64) error {
		held += n
		most = max(most, held)
		return nil
	}}
	optest.Find(nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", memory))
	if held != 0 || most < 300*40 {
		t.Errorf("%d bytes are held at the end, %d at most", held, most)
	}
	var last error
	for _, err := range (ingest.Options{Stdin: bytes.NewReader(text), MaxMemory: 10_000}).Open(ingest.Stdin).Entries() {
		last = err
	}
	if _, ok := errors.AsType[*ingest.MemoryError](last); !ok && !strings.Contains(fmt.Sprint(last), "too large") {
		t.Errorf("%v", last)
	}
	for _, err := range nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db",
		ingest.Memory{Hold: func(n int64) error {
			if n > 0 {
				return &ingest.MemoryError{}
			}
			return nil
		}}) {
		last = err
	}
	if _, ok := errors.AsType[*ingest.MemoryError](last); !ok {
		t.Errorf("%v", last)
	}
}

func TestMutants(t *testing.T) {
	optest.Mutants(t, cases.Count(t, 60, 3000), database(t, small), func(text []byte) optest.Found {
		return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
	})
}

func BenchmarkReadNsys(b *testing.B) {
	const rows = 5000
	text := many(b, rows)
	recordtest.Benchmark(b, text, 2*rows+10, func(io.Reader, string, *attr.Mapping) iter.Seq2[op.Record, error] {
		return nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", unbounded)
	})
}
