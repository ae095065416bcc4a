//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// residentBytes returns the most memory that a process had at a time.
func residentBytes(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	most := int64(usage.Maxrss) //nolint:unconvert // 32 bits wide on some systems
	if runtime.GOOS == "darwin" {
		return most
	}
	return most << 10
}

// resident returns the memory that a process has now, 0 where the system does not say.
func resident(pid int) (bytes int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
