//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package rotate

import "os"

func tryLock(*os.File) (locked, busy bool) { return false, false }

func unlock(*os.File) {}
