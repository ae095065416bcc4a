//go:build !linux

package fulldisk

import "errors"

// LimitFiles returns an error on systems other than Linux.
func LimitFiles(uint64) (before uint64, err error) { return 0, errors.ErrUnsupported }
