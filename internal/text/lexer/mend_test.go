package lexer_test

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

func TestMend(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,-2.5e3,true,null,"x\n\u0041\"]"],"b":{}}`: "",
		`{"a":inf,"b":[-Infinity,NaN]}`:                    `{"a":"inf","b":["-Infinity","NaN"]}`,
		`{"a":x,"b":{"c":nan(ind),"d":.5}}`:                `{"a":x,"b":{"c":"nan(ind)","d":".5"}}`,
		`{"a":[1, ],"b":{"c":",}",},}`:                     `{"a":[1],"b":{"c":",}"}}`,
		`{"a":"C:\x\temp\\y\"","b":"\t"}`:                  `{"a":"C:\u005cx\u005ctemp\\y\"","b":"\t"}`,
		"{\"a\":\"x\ty\"}":                                 `{"a":"x\u0009y"}`,
		"{\"a\":\"x\n,}":                                   "{\"a\":\"x\n}",
	} {
		got, found := lexer.Mend([]byte(text), 2)
		if want == "" {
			want = text
		}
		check.Equal(t, text, want, string(got))
		check.Equal(t, text+": found", want != text, found)
	}
}
