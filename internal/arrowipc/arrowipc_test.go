package arrowipc_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/arrowipc"
)

var (
	number = arrowipc.Type{Kind: arrowipc.Int, Bits: 64, Signed: true}
	sample = &arrowipc.Schema{
		Fields: []arrowipc.Field{
			{Name: "a", Nullable: true, Type: number, Children: []arrowipc.Field{}},
			{
				Name: "größe", Type: arrowipc.Type{Kind: arrowipc.Utf8}, Children: []arrowipc.Field{},
				Dictionary: &arrowipc.Dictionary{ID: 7, Index: arrowipc.Type{Kind: arrowipc.Int, Bits: 16}},
			},
			{Name: "list", Type: arrowipc.Type{Kind: arrowipc.List}, Children: []arrowipc.Field{
				{Name: "", Type: arrowipc.Type{Kind: arrowipc.Struct}, Children: []arrowipc.Field{
					{Name: "f", Type: arrowipc.Type{Kind: arrowipc.Float, Bits: 64}, Children: []arrowipc.Field{}},
					{Name: "b", Type: arrowipc.Type{Kind: arrowipc.Bool}, Children: []arrowipc.Field{}},
				}},
			}},
		},
		Metadata: []arrowipc.KeyValue{{Key: "k", Value: "v"}, {Key: "", Value: ""}},
	}
	batch = &arrowipc.Batch{
		Rows: 5, Nodes: []arrowipc.Node{{5, 1}, {5, 0}}, Buffers: []arrowipc.Span{{0, 1}, {8, 40}}, Variadic: []int64{},
		Compression: arrowipc.Zstd,
	}
)

// messages are one of each kind, as they are written.
func messages() [][]byte {
	plain := *batch
	plain.Compression = arrowipc.Uncompressed
	return [][]byte{
		arrowipc.AppendSchema(nil, sample), arrowipc.AppendRecords(nil, batch, 48), arrowipc.AppendDictionary(nil, 7, &plain, 64),
		arrowipc.AppendSchema(nil, &arrowipc.Schema{}),
	}
}

// metadata returns what follows the prefix.
func metadata(t *testing.T, message []byte) []byte {
	t.Helper()
	if len(message)%8 != 0 || binary.LittleEndian.Uint32(message) != arrowipc.Continuation ||
		int(binary.LittleEndian.Uint32(message[4:])) != len(message)-arrowipc.PrefixSize {
		t.Fatalf("message of %d bytes begins with %x", len(message), message[:arrowipc.PrefixSize])
	}
	return message[arrowipc.PrefixSize:]
}

// What is written reads back as it was.
func TestRoundTrip(t *testing.T) {
	plain := *batch
	plain.Compression = arrowipc.Uncompressed
	want := []arrowipc.Message{
		{Kind: arrowipc.SchemaMessage, Schema: sample},
		{Kind: arrowipc.RecordBatchMessage, BodyLength: 48, Batch: batch},
		{Kind: arrowipc.DictionaryBatchMessage, BodyLength: 64, Batch: &plain, Dictionary: 7},
		{Kind: arrowipc.SchemaMessage, Schema: &arrowipc.Schema{Fields: []arrowipc.Field{}}},
	}
	for i, message := range messages() {
		got, err := arrowipc.ReadMessage(metadata(t, message))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("message %d (-want +got):\n%s", i, diff)
		}
	}
}

// Metadata that are cut off or changed are read without a panic, and cut off to
// nearly nothing they are an error.
func TestDamage(t *testing.T) {
	for _, message := range messages() {
		text := metadata(t, message)
		for n := range text {
			if _, err := arrowipc.ReadMessage(text[:n]); err == nil && n < 16 {
				t.Errorf("%d bytes of metadata are read", n)
			}
		}
		for i := range text {
			for _, flip := range []byte{1, 0x80, 0xff} {
				text[i] ^= flip
				_, _ = arrowipc.ReadMessage(text) // must return
				text[i] ^= flip
			}
		}
	}
}

// Fields nest within a bound.

func TestDepth(t *testing.T) {
	deep := arrowipc.Field{Name: "x", Type: number}
	for range arrowipc.MaxDepth + 1 {
		deep = arrowipc.Field{Name: "s", Type: arrowipc.Type{Kind: arrowipc.Struct}, Children: []arrowipc.Field{deep}}
	}
	message := arrowipc.AppendSchema(nil, &arrowipc.Schema{Fields: []arrowipc.Field{deep}})
	if _, err := arrowipc.ReadMessage(metadata(t, message)); err == nil {
		t.Error("fields nest without a bound")
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, message := range messages() {
		f.Add(message[arrowipc.PrefixSize:])
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = arrowipc.ReadMessage(text)
		_, _ = arrowipc.ReadFooter(text)
	})
}

// A layout gives the metadata that writing them anew gives.
func TestLayout(t *testing.T) {
	for _, c := range []arrowipc.Compression{arrowipc.Uncompressed, arrowipc.Zstd} {
		b := &arrowipc.Batch{
			Rows: 5, Nodes: []arrowipc.Node{{Length: 5, Nulls: 1}, {Length: 4}}, Compression: c,
			Buffers: []arrowipc.Span{{Offset: 0, Length: 1}, {Offset: 8, Length: 40}, {Offset: 48, Length: 1 << 40}},
		}
		for name, test := range map[string]struct {
			layout *arrowipc.Layout
			want   []byte
		}{
			"records":    {arrowipc.RecordsLayout(2, 3, c), arrowipc.AppendRecords(nil, b, 77)},
			"dictionary": {arrowipc.DictionaryLayout(9, 2, 3, c), arrowipc.AppendDictionary(nil, 9, b, 77)},
		} {
			for range 2 {
				got := test.layout.AppendTo([]byte("before"))[len("before"):]
				test.layout.Fill(got, b, 77)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}
