package price_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestParse(t *testing.T) {
	got := check.Must(price.Parse([]byte(`{"currency": "EUR", "devices": [
		{"match": "cuda:*", "per_hour": 2.5, "watts": 700}, {"watts": 15}], "tenant": "app.customer"}`)))(t)
	check.Equal(t, "table", &price.Table{Currency: "EUR", Tenant: "app.customer", Devices: []price.Device{
		{Match: "cuda:*", PerHour: 2.5, Watts: 700}, {Watts: 15},
	}}, got)
	for id, want := range map[string]int{"cuda:3": 0, "cpu": 1, "": 1} {
		check.Equal(t, "number of "+id, want, got.Find(id))
	}
	got.Devices = got.Devices[:1]
	check.Equal(t, "number of another", -1, got.Find("cpu"))
}

func TestParseReportsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "line 1: incomplete object",
		"\n{\"devices\":[":   "line 2: incomplete object",
		"devices:\n":         "line 1: invalid character 'd'",
		"[]":                 "line 1: the text has the wrong type: array",
		`{"devices":{}}`:     "line 1: devices has the wrong type: object",
		`{"devices":[]}`:     "line 1: no devices",
		`{"device":[]}`:      `line 1: json: unknown field "device"`,
		"{\n\"currency\":3}": "line 2: currency has the wrong type: number",
		"{\"devices\":[\n{\"per_hour\":1},\n{\"per_hour\":-1}]}": "line 3: per_hour is -1",
		"{\"devices\":[\n{\"per_hour\":1},\n{\"watts\":1e99}]}":  "line 3: watts is 1e+99",
		"{\"devices\":[\n{\"per_hour\":\"1\"}]}":                 "line 2: per_hour has the wrong type: string",
		"{\"devices\":[\n\n{\"perhour\":1}]}":                    `line 3: json: unknown field "perhour"`,
		"{\"devices\":[\n{\"match\":\"x\"}]}":                    "line 2: a device has neither per_hour nor watts",
		"{\"devices\":[{\"per_hour\":1}]}\n{}":                   "line 2: unexpected text after the object",
		"{\"devices\":[{\"per_hour\":1}]\n":                      "incomplete object",
	} {
		_, err := price.Parse([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "reading prices: line ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func ExampleParse() {
	const file = `{"currency": "USD", "devices": [{"match": "cuda:*", "per_hour": 2.5, "watts": 700}]}`
	table, err := price.Parse([]byte(file))
	if err != nil {
		panic(err)
	}
	d := table.Devices[table.Find("cuda:3")]
	fmt.Println(d.PerHour, table.Currency, "an hour,", d.Watts, "W")
	// Output: 2.5 USD an hour, 700 W
}
