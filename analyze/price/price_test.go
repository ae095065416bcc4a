package price_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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
	golden.Lines(t, "testdata/errors.txt", func(text string) string {
		_, err := price.Parse([]byte(text))
		message, _, _ := strings.Cut(fmt.Sprint(err), " looking for") // the rest is of encoding/json
		return message
	})
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
