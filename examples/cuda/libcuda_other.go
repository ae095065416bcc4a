//go:build !linux || (!amd64 && !arm64)

package main

import (
	"fmt"
	"runtime"
)

// loadDriver returns an error.
func loadDriver() (*driver, error) {
	return nil, fmt.Errorf("%w: this program loads libcuda on Linux, on amd64 and arm64, and this is %s on %s",
		errNoDevice, runtime.GOOS, runtime.GOARCH)
}
