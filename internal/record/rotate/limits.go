package rotate

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound the size, the age and the total of files. 0 is off.
type Limits struct {
	MaxBytes int64
	MaxAge   time.Duration
	MaxTotal int64
}

// Enabled reports whether there is any limit.
func (l Limits) Enabled() bool { return l != Limits{} }

// Validate returns an error for invalid limits.
func (l Limits) Validate() error {
	var errs []error
	if l.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("file size %d is negative", l.MaxBytes))
	}
	if l.MaxAge < 0 {
		errs = append(errs, fmt.Errorf("file age %v is negative", l.MaxAge))
	}
	switch {
	case l.MaxTotal < 0:
		errs = append(errs, fmt.Errorf("total size %d is negative", l.MaxTotal))
	case l.MaxTotal > 0 && l.MaxBytes <= 0:
		errs = append(errs, errors.New("a bound on the total needs rotation by size"))
	case l.MaxTotal > 0 && l.MaxTotal < l.MaxBytes:
		errs = append(errs, fmt.Errorf("total size %d is below the file size %d", l.MaxTotal, l.MaxBytes))
	}
	return errors.Join(errs...)
}
