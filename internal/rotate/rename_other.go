//go:build !linux && !darwin

package rotate

// renameNew renames a file, unless there is one under the new name.
func renameNew(from, to string) error { return renameReserved(from, to) }
