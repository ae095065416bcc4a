// Package parquet writes operations as a table in Apache Parquet, for DuckDB,
// pandas, Spark, Trino and ClickHouse. Nothing that entries JSON Lines hold is
// lost, and ingest reads the file back.
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
// rank, host and what else its resource states, is under optrace.resource. Text is dictionary-encoded, pages are compressed with zstd.
package parquet
