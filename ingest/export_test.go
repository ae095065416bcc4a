package ingest

// SetPartSize sets the size of a part in bytes.
func (in *Input) SetPartSize(n int) { in.partSize = n }
