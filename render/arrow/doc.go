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
//	UTF8                         span_id
//	BOOL                         failed, parent_remote
//	DICTIONARY(INT16, …)         all others, of
//	  UTF8                       record, operation, device_id, kind, kind_rule, dtype,
//	                             trace_id, parent_span_id, root, root_span_id, service,
//	                             scope, path, side, error, name,
//	                             extra
//	  INT64                      step, output_elements, memory_bytes, stream, rank,
//	                             flops, dropped_attributes, world_size
//	  FLOAT64                    adjusted_count
//	  LIST(INT64)                output_shape
//	  LIST(LIST(INT64))          input_shapes
//	  LIST(UTF8)                 input_dtypes, warn
//	  MAP(UTF8, UTF8)            attrs
//	  STRUCT                     collective, gap, batch
//	  LIST(STRUCT)               links
//
// A batch has at most 16,384 rows, and its dictionaries stand in front of it and
// replace those before: it can be read by itself, and a stream that ends early has
// lost nothing of the batches before. Where a column has no values in a batch, its
// dictionary stays what it was. Buffers of nothing but zeros lie in one place.
//
// The schema's metadata hold its name, optrace.entries/v1, under the key
// optrace.schema.
package arrow
