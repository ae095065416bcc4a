//go:build !linux && !darwin

package rotate

import "errors"

func rename(_, _ string) error { return errors.ErrUnsupported }
