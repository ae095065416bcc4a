package check

import (
	"errors"
	"testing"
)

// recorder records whether the test failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatal(...any)          { r.failed = true }

func TestEqual(t *testing.T) {
	for _, got := range []int{1, 2} {
		r := &recorder{TB: t}
		Equal(r, "number", 1, got)
		if r.failed != (got != 1) {
			t.Errorf("%d and 1: failed %v", got, r.failed)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, err := range []error{nil, errors.New("broken"), errors.ErrUnsupported} {
		is := &recorder{TB: t}
		says := &recorder{TB: t}
		Is(is, "", errors.ErrUnsupported, err)
		Says(says, "", "unsupported", err)
		if want := err != errors.ErrUnsupported; is.failed != want || says.failed != want {
			t.Errorf("error %v: failed %v and %v", err, is.failed, says.failed)
		}
	}
}

func TestMust(t *testing.T) {
	for _, err := range []error{nil, errors.ErrUnsupported} {
		r := &recorder{TB: t}
		if got := Must(1, err)(r); got != 1 || r.failed != (err != nil) {
			t.Errorf("error %v: %d, failed %v", err, got, r.failed)
		}
	}
}
