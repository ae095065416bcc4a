package parquet

import "github.com/optrace/optrace/ingest"

func init() {
	ingest.Register("parquet", ingest.Tables{Records: Records, RecordsAt: RecordsAt, Parts: Parts})
}
