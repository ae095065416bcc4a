package workload

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// Fingerprint identifies what a format makes of a configuration by its first
// operations, so that files of other versions of the writers are told apart.
func Fingerprint(f Format, c Config) (string, error) {
	const sample = 2_000
	c.Ops = min(c.Ops, sample)
	var buf bytes.Buffer
	if _, err := Write(&buf, f, c); err != nil {
		return "", err
	}
	h := crc32.NewIEEE()
	for line := range bytes.Lines(buf.Bytes()) {
		// Batch records name their writer, which is another one each time.
		if f != Entries || !bytes.HasPrefix(line, []byte(`{"batch":`)) {
			if _, err := h.Write(line); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%08x", h.Sum32()), nil
}
