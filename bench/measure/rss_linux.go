package measure

import (
	"os"
	"syscall"
)

// peakRSS returns the largest resident size of a process that has ended, in bytes.
func peakRSS(s *os.ProcessState) int64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10 // Linux counts in KiB
	}
	return 0
}
