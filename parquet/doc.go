// Package parquet writes operations as a table in Apache Parquet, for DuckDB, pandas, Spark, Trino and ClickHouse,
// and reads such tables. Its own tables keep everything in entries JSON Lines. It also reads tables that other
// programs rewrote or made themselves. The package is a module of its own. A program that imports it reads Parquet
// through package ingest:
//
//	import _ "github.com/optrace/optrace/parquet"
//
// # The table
//
// Each record is a row, in the order of the input. The column record has the kind of record, so a query over
// operations starts with
//
//	SELECT operation, count(*), sum(duration_ns)
//	FROM 'ops.parquet' WHERE record = 'entry' GROUP BY operation
//
// The columns have the names of the keys in entries JSON Lines. An unknown value is null.
//
//	record              VARCHAR       entry, span, resource, gap or batch; never null
//	step                BIGINT
//	operation           VARCHAR       null in rows other than entries
//	device_id           VARCHAR
//	input_shapes        BIGINT[][]    null elements are inputs of unknown shape
//	output_shape        BIGINT[]      null is unknown, [] a scalar
//	duration_ns         BIGINT        of entries and spans
//	output_elements     BIGINT
//	memory_bytes        BIGINT
//	kind                VARCHAR       compute, collective, memory, io, control
//	kind_rule           VARCHAR       how the kind was found
//	dtype               VARCHAR
//	start_unix_ns       BIGINT        of entries and spans
//	launch_unix_ns      BIGINT
//	stream              BIGINT
//	rank                BIGINT        of entries and resources
//	flops               BIGINT
//	trace_id            VARCHAR       32 hexadecimal digits
//	span_id             VARCHAR       16 hexadecimal digits, like all span ids
//	parent_span_id      VARCHAR
//	root                VARCHAR       name of the local root span
//	root_span_id        VARCHAR
//	service             VARCHAR       of entries, spans and resources
//	scope               VARCHAR
//	path                VARCHAR
//	input_dtypes        VARCHAR[]
//	side                VARCHAR       host for the host's view of device work
//	failed              BOOLEAN       of entries and spans
//	error               VARCHAR
//	adjusted_count      DOUBLE
//	dropped_attributes  BIGINT
//	attrs               MAP(VARCHAR, VARCHAR)  of entries, spans and resources
//	warn                VARCHAR[]
//	collective          STRUCT(name VARCHAR, "group" VARCHAR, group_size, sequence,
//	                    peer_rank, in_elements, out_elements BIGINT)
//	name                VARCHAR       of spans
//	parent_remote       BOOLEAN       of spans
//	world_size          BIGINT        of resources
//	gap                 STRUCT(dropped BIGINT, reason VARCHAR)
//	batch               STRUCT(writer VARCHAR, seq, entries BIGINT)
//	links               STRUCT(trace_id, span_id VARCHAR, weight BIGINT)[]
//	                    of entries and spans
//	extra               VARCHAR       a JSON object: typed attributes, and other
//	                    fields of spans and links
//
// The file's metadata have the schema's name, optrace.entries/v1, under the key optrace.schema. If all rows come from
// one process, optrace.resource has its header in JSON, with service, rank, host and other attributes of its
// resource. Text is dictionary-encoded, and pages are compressed with zstd.
//
// # Reading
//
// Columns are found by name. Only operation and a duration, in duration_ns or duration_us, are required. Missing
// columns are derived where possible: the kind from the name, elements and bytes from the output's shape. Integers
// may have any width or be integral floating-point numbers, times may be timestamps, ids bytes, and shapes a text
// with all inputs. Values of another type are unknown, and the entry gets a warning.
//
// The reader works in batches of rows, column by column. The parquet-go library decodes the metadata and the values
// of a page, but it allocates as much as they claim. Therefore the reader first checks claimed sizes, runs and
// lengths against the bytes in the file. It translates the values of a dictionary once and skips unknown columns.
// Memory holds a batch of rows, and a page and a dictionary of each column, at most 512 MiB. Several goroutines can
// read the row groups of a file.
package parquet
