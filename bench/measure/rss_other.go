//go:build !linux

package measure

import "os"

// peakRSS returns 0: units differ between systems.
func peakRSS(*os.ProcessState) int64 { return 0 }
