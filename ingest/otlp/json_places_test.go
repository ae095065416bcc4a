package otlp

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

const placeSpan = `{"traceId":"11111111111111111111111111111111","spanId":"1111111111111111","name":"a",` +
	`"startTimeUnixNano":"1","endTimeUnixNano":"2"}`

// R2: objects that only begin like spans are looked at a few times, however many there are
// and however long they go on.
func TestR2PlaceCandidates(t *testing.T) {
	nested := strings.Repeat(`,{},{"traceId":[{}`, 100)
	for name, tc := range map[string]struct {
		text  string
		found bool
	}{
		"a span":          {"{}," + placeSpan, true},
		"behind some":     {strings.Repeat(`{},{"traceId":[{}]}`, maxCandidates-1) + "," + placeSpan, true},
		"behind too many": {nested + "," + placeSpan, false},
	} {
		if at := spanStart([]byte(tc.text)); (at >= 0) != tc.found {
			t.Errorf("%s: found at %d", name, at)
		}
	}
}

// countedReader counts what is read.
type countedReader struct {
	io.ReaderAt
	bytes atomic.Int64
}

func (r *countedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.bytes.Add(int64(n))
	return n, err
}

// R2: the lines in front of a part are counted once and not for every error in it.
func TestR2LinesOfManyErrors(t *testing.T) {
	const faults = 2000
	text := `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[` + placeSpan +
		strings.Repeat("\n,"+placeSpan, 5000) + "\n" + strings.Repeat("{x\n", faults)
	src := &countedReader{ReaderAt: strings.NewReader(text)}
	parts := check.Must(JSONParts(src, int64(len(text)), "file", nil, Parts{Bytes: 1000}))(t)
	n := 0
	var last error
	for _, part := range parts {
		for _, err := range part {
			if err != nil {
				n, last = n+1, err
			}
		}
	}
	if n < faults || !strings.Contains(last.Error(), "file:7001:") {
		t.Errorf("%d errors, the last one %v", n, last)
	}
	if most := 10 * int64(len(text)); src.bytes.Load() > most {
		t.Errorf("%d bytes read of %d", src.bytes.Load(), len(text))
	}
}

// Batches on lines are no document to be read in parts, however long the lines are.
func TestLongLinesAreNoDocument(t *testing.T) {
	const head, end = `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[`, `]}]}]}`
	batch := func(bytes int) string {
		line := head + placeSpan + strings.Repeat(","+placeSpan, bytes/len(placeSpan))
		return line[:len(line)-len(placeSpan)-1] + end + "\n"
	}
	// A newline is the last byte of the first lines.
	padded := func(size int) string {
		line := batch(1 << 10)
		line = line[:len(line)-1] + strings.Repeat(" ", size-len(line)) + "\n"
		return line + batch(8<<20)
	}
	for name, tc := range map[string]struct {
		text   string
		shared bool
	}{
		"a document":      {batch(8 << 20), true},
		"two documents":   {strings.Repeat(batch(4<<20), 2), true},
		"short lines":     {strings.Repeat(batch(1<<10), 8<<10), false},
		"long lines":      {strings.Repeat(batch(maxPlaceBytes), 32), false},
		"very long lines": {strings.Repeat(batch(3*maxPlaceBytes), 11), false},
		"first look":      {padded(maxPlaceBytes), false},
		"second look":     {padded(2*maxPlaceBytes - 1), false},
	} {
		_, err := JSONParts(strings.NewReader(tc.text), int64(len(tc.text)), "file", nil, Parts{Bytes: maxPlaceBytes})
		if (err == nil) != tc.shared {
			t.Errorf("%s: %v", name, err)
		}
	}
}
