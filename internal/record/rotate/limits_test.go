package rotate

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestLimitsValidate(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		want   string // of the error, "" for none
	}{
		{Limits{}, ""},
		{Limits{MaxBytes: 10, MaxAge: time.Hour, MaxTotal: 10}, ""},
		{Limits{MaxBytes: -1}, "file size -1 is negative"},
		{Limits{MaxAge: -1}, "file age -1ns is negative"},
		{Limits{MaxTotal: -1}, "total size -1 is negative"},
		{Limits{MaxTotal: 10}, "needs rotation by size"},
		{Limits{MaxBytes: 11, MaxTotal: 10}, "below the file size 11"},
	} {
		err := tt.limits.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.limits, err, tt.want)
		}
	}
}

// write writes text as a sink does.
func write(t *testing.T, f *File, text string) {
	t.Helper()
	check.Must(f.Ready(len(text)))(t)
	check.OK(t, f.Reserve(len(text)))
	check.Must(io.WriteString(f, text))(t)
	f.Release()
}

// whole is an Inspect for whole records.
func whole(_ io.ReaderAt, _, size int64) (Ending, int64, error) { return EndsWhole, size, nil }
