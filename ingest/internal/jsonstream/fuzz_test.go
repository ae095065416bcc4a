package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzElements checks that elements do not depend on how the input arrives,
// and that those of a valid document agree with encoding/json.
func FuzzElements(f *testing.F) {
	for _, seed := range []string{
		`[{"a":1},{"b":[2,{}]}]`, `{"events":[1,"\"",true,null],"v":{}}`, `[{"a":"x`, "[{\"a\":\"x\n\"},1]", `{"events":[}]}`, "\xef\xbb\xbf[]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := events(bytes.NewReader(text))
		bytewise, err2 := events(iotest.OneByteReader(bytes.NewReader(text)))
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatalf("bytewise (-whole +bytewise):\n%s", diff)
		}
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("err = %v, bytewise %v", err, err2)
		}
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || !strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), "[") {
			return
		}
		if err != nil || len(whole) != len(want) {
			t.Fatalf("%d elements, err = %v; want %d", len(whole), err, len(want))
		}
		for i := range want {
			if string(want[i]) != whole[i] {
				t.Errorf("element %d is %q, want %q", i, whole[i], want[i])
			}
		}
	})
}

func BenchmarkElements(b *testing.B) {
	const event = `{"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4>","pid":0,"tid":7,` +
		`"ts":1682725898082228,"dur":10,"args":{"External id":6935929,"device":0,"stream":7,"correlation":6935929,"grid":[2400,1,1]}}`
	text := "[" + strings.Repeat(event+",", 9999) + event + "]"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if got, err := countEvents(text); got != 10_000 || err != nil {
			b.Fatal(got, err)
		}
	}
}
