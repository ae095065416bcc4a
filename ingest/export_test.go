package ingest

// SetSize sets how many bytes make a part.
func (p *Parts) SetSize(n int) { p.size = n }
