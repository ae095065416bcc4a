//go:build !linux

package producer

import "errors"

// limitFiles keeps this process from making files larger than most bytes, which is
// there on Linux only.
func limitFiles(most uint64) error {
	if most == 0 {
		return nil
	}
	return errors.ErrUnsupported
}
