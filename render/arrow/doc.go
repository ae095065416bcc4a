// Package arrow writes operations as a stream of record batches in Apache Arrow's
// IPC format, for polars, pandas, Arquero and others that read columns without
// parsing. Nothing that entries JSON Lines hold is lost, and ingest reads
// the stream back.
//
// There is one row per record, in the order of the input, and the columns are
// those of package render/parquet: the column record says what a row is, and what
// is not known is null. Their types are
//
//	INT64                        start_unix_ns, launch_unix_ns, duration_ns
//	UINT64                       span_id
//	BOOL                         failed, parent_remote
//	DICTIONARY(INT8, UTF8)       record, kind, kind_rule, side
//	DICTIONARY(INT16, …)         all others, of
//	  UTF8                       operation, device_id, dtype, trace_id, root, service,
//	                             scope, path, error, name, extra
//	  UINT64                     parent_span_id, root_span_id
//	  INT64                      step, output_elements, memory_bytes, stream, rank,
//	                             flops, dropped_attributes, world_size
//	  FLOAT64                    adjusted_count
//	  LIST(DIM)                  output_shape
//	  LIST(LIST(DIM))            input_shapes
//	  LIST(UTF8)                 input_dtypes, warn
//	  MAP(UTF8, UTF8)            attrs
//	  STRUCT                     collective, gap, batch
//	  LIST(STRUCT)               links
//
// DIM is DICTIONARY(INT32, INT64): both columns of shapes share the dictionary of their
// dimensions, which most readers show as INT64. The id of a span is the number that its
// 16 hexadecimal digits are, also among the links; that of a trace is its digits.
//
// A batch has at most 32,767 rows, and its dictionaries stand in front of it and
// replace those before: it can be read by itself, and a stream that ends early has
// lost nothing of the batches before. Where a column has no values in a batch, its
// dictionary stays what it was. Buffers that are equal lie in one place.
//
// The schema's metadata hold its name, optrace.entries/v1, under the key
// optrace.schema.
package arrow
