package parquet

// Limits of memory and disk space. A file states the sizes of its parts; the reader believes them up to these limits.
const (
	// maxFooterBytes limits the footer. At some kilobytes per row group it allows far more than a billion operations.
	maxFooterBytes = 128 << 20
	// maxPageBytes limits a decompressed page. Known writers stay below 100 MiB, most of them at 1 MiB.
	maxPageBytes = 128 << 20
	// maxHeldBytes limits the pages and dictionaries of all columns together.
	maxHeldBytes = 512 << 20
	// maxColumns limits the columns and groups of a schema, and maxDepth its nesting.
	maxColumns = 1 << 16
	maxDepth   = 64
	// maxRowGroups limits the row groups of a file.
	maxRowGroups = 1 << 20
	// maxRowValues limits the values of a row in a column.
	maxRowValues = 1 << 20
	// maxTextBytes limits a text.
	maxTextBytes = 16 << 20
	// MaxSpoolBytes limits the copy of an input that does not support random access.
	MaxSpoolBytes = 16 << 30

	// Equal rows take no space, so a few bytes may claim any number of rows. maxRowsPerByte limits the
	// rows for each byte of the pages read. freeRows are allowed in a file of any size.
	maxRowsPerByte = 16
	freeRows       = 1 << 20

	// maxValuesPerByte limits the values for each byte of a page with more values than rows. Different
	// levels take at least one bit each.
	maxValuesPerByte = 64
	// maxHeaderBytes limits a page header. It may hold the smallest and the largest value.
	maxHeaderBytes = 1 << 20
)
