package nsys

import "github.com/optrace/optrace/ingest"

func init() { ingest.Register("nsys", ingest.Tables{Records: Records, RecordsAt: RecordsAt}) }
