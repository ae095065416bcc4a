// Package parquet writes operations as a table in Apache Parquet, for DuckDB, pandas,
// Spark, Trino and ClickHouse, and reads such tables: its own, which lose nothing that
// entries JSON Lines hold, and what other programs made of them or put together
// themselves. It is a module of its own. A program that imports it reads Parquet through
// package ingest:
//
//	import _ "github.com/optrace/optrace/parquet"
//
// # The table
//
// There is one row per record, in the order of the input. The column record
// says what the row is, so a query over operations starts with
//
//	SELECT operation, count(*), sum(duration_ns)
//	FROM 'ops.parquet' WHERE record = 'entry' GROUP BY operation
//
// The columns are named as the keys of entries JSON Lines. What is not known is
// null.
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
//	span_id             VARCHAR       16 hexadecimal digits, as those below
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
//	extra               VARCHAR       a JSON object: attributes that are no text,
//	                    with their types, and what else spans and links had
//
// The file's metadata hold the schema's name, optrace.entries/v1, under the key
// optrace.schema. Where all rows come from one process, its header in JSON, with service,
// rank, host and what else its resource states, is under optrace.resource. Text is
// dictionary-encoded, pages are compressed with zstd.
//
// # Reading
//
// Columns are found by name. Only operation and a duration, in duration_ns or duration_us, must be there. What
// a file lacks follows from the rest where it can: the kind from the name,
// elements and bytes from the output's shape. Integers may be of any width or
// floating-point numbers of integral value, times may be timestamps, ids bytes,
// shapes a text, all inputs in one. Values of another type are unknown, with a warning on the entry.
//
// The rows are read in batches, column by column. The parquet-go library decodes
// the metadata and the values of a page, once the sizes, runs and lengths that they
// claim have been checked against the bytes that are there: the library allocates
// what is claimed. The values of a dictionary are translated once, and columns that
// mean nothing are not read. Memory holds a batch of rows, and a page and a
// dictionary of each column, of at most 512 MiB. The row groups of a file can be
// read by several goroutines.
package parquet
