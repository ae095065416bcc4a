// Package clickhouse keeps operations in ClickHouse and lets it compute their report, for recordings too
// large for one machine.
//
// A [Schema] describes the tables: records, distributed over the shards by trace, and loaded inputs.
// [Load] reads files of all formats of package ingest and inserts each record once, even after interrupted
// loads. A [Source] computes reports: the shards compute partial sums, the server adds them up, and
// package analyze reads the result. The figures equal those of optrace report. For figures that need the
// structure of traces, a limited number of records is read instead.
//
// The statements run on ClickHouse 18.16 and on current versions. The package connects through a [DB];
// [Open] returns one for the native protocol.
package clickhouse
