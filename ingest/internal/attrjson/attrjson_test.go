package attrjson_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op/attr"
)

func TestObject(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("note")
	for _, test := range []struct {
		text string
		want string // the entry behind its operation; "" where it is no operation
	}{
		{`{"op":"x","input_shapes":[[2,3],[4]]}`, `"device_id":null,"input_shapes":[[2,3],[4]],"output_shape":null`},
		{`{"op":"x","output_shape":[2,3.0],"device":1}`, `"device_id":"1","input_shapes":null,"output_shape":[2,3]`},
		{`{"op":"x","input_shapes":["2x3",true,[null,{}],[]],"note":[1,[0.5,"a"]]}`,
			`"input_shapes":[[2,3],null,null,[]]`},
		{`{"tensor.op.name":"x","tensor.device.id":null,"note":0.25}`, `"attrs":{"note":0.25}`},
		{`{"tensor.op.name":"x","note":true}`, `"attrs":{"note":true}`},
		{`{"tensor.op.name":"x","tensor.memory.size":1e400,"tensor.step":{}}`, `"warn":["bad_value","bad_memory"]`},
		{`{"op":"x","other":[1,{}],"more":1e400}`, ""},
		{`{}`, ""},
	} {
		b := attrmap.NewBuilder(m)
		b.Reset()
		var l lexer.Lexer
		l.Reset([]byte(test.text))
		attrjson.NewFeeder(b).Object(&l)
		if l.End(); l.Err() != nil {
			t.Errorf("%s: %v", test.text, l.Err())
		}
		got := ""
		if e, ok := b.Entry(); ok {
			got = string(e.AppendJSON(nil))
		}
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s:\n%s", test.text, cmp.Diff(test.want, got))
		}
	}
}
