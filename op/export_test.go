package op

// IsCanonical reports whether a Reader reads the line, which ends with a newline,
// as one in canonical form.
func IsCanonical(line []byte) bool {
	var d decoder
	size := d.canonicalRecord(line)
	return size == len(line)
}
