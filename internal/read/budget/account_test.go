package budget

import (
	"errors"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// An account asks before it allows more, allows no more after a refusal, and returns everything.
func TestTake(t *testing.T) {
	held := int64(0)
	a := Account{Hold: func(bytes int64) error {
		if held += bytes; held > 1<<20 {
			return errors.New("full")
		}
		return nil
	}}
	taken := 0
	for taken < 2<<20 && a.Take(1<<10) {
		taken += 1 << 10
	}
	if taken < 1<<20 || taken > 1<<20+free {
		t.Errorf("%d bytes were allowed of %d", taken, 1<<20)
	}
	check.Equal(t, "allowed behind a refusal", false, a.Take(1))
	a.Reset()
	check.Equal(t, "held behind a reset", int64(0), held)
	check.Equal(t, "allowed behind a reset", true, a.Take(1<<20))
	check.Equal(t, "allowed where nothing bounds it", true, new(Account).Take(1<<40))
}
