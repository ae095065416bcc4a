package csv_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/csv"
)

// Whatever names are, other programs read the fields that were written, and run none
// of them.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		for _, opts := range []csv.Options{{}, {Unguarded: true}} {
			var b bytes.Buffer
			check.OK(t, csv.WriteEntries(&b, []*op.Entry{e}, opts))
			row := parse(t, b.Bytes())[0]
			for column, want := range map[string]string{
				"operation": e.Operation, "path": e.Path, "device_id": e.DeviceID, "service": e.Service, "error": e.Error,
			} {
				got := row[column]
				if strings.ContainsAny(got[:min(1, len(got))], "=+-@\t\r") && !opts.Unguarded {
					t.Errorf("%s = %q, which is a formula", column, got)
				}
				// The standard library reads \r\n within a field as \n.
				want = strings.ReplaceAll(want, "\r\n", "\n")
				if got != want && (opts.Unguarded || got != "'"+want) {
					t.Errorf("%s = %q, want %q", column, got, want)
				}
			}
		}
	})
}
