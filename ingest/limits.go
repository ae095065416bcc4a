package ingest

// The limits of the size that one compressed file may expand to. Reading streams, so
// they bound time, not memory.
const (
	// maxDecompressedBytes is far above the size of a profile of one run.
	maxDecompressedBytes = 1 << 40
	// maxRatio is the largest expansion taken for data. Spans that repeat reach
	// some hundreds; gzip cannot exceed 1032.
	maxRatio = 2000
	// freeDecompressedBytes may come out of a file whatever the ratio, because
	// small files of equal lines compress extremely well.
	freeDecompressedBytes = 64 << 20
	// maxWindowBytes bounds the memory that a zstd frame may ask for: the
	// window of the strongest settings that zstd uses without a special flag.
	maxWindowBytes = 128 << 20
)

// Limits bounds the data read from compressed files. Zero fields are
// 1 TiB and 2000.
type Limits struct {
	// DecompressedBytes is the most that one file may expand to.
	DecompressedBytes int64
	// Ratio is the most that one file may expand by, once it has exceeded
	// 64 MiB.
	Ratio int64
}

func (l Limits) orDefault() Limits {
	if l.DecompressedBytes <= 0 {
		l.DecompressedBytes = maxDecompressedBytes
	}
	if l.Ratio <= 0 {
		l.Ratio = maxRatio
	}
	return l
}
