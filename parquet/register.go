package parquet

import (
	"io"
	"iter"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

func init() {
	ingest.Register("parquet", ingest.Tables{
		Records: func(src io.Reader, name string, m ingest.Memory) iter.Seq2[op.Record, error] {
			return Records(src, name, m.SpoolBytes)
		},
		RecordsAt: func(src io.ReaderAt, size int64, name string, _ ingest.Memory) iter.Seq2[op.Record, error] {
			return RecordsAt(src, size, name)
		},
		Parts: Parts,
	})
}
