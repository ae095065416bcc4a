// Package clickhouse keeps operations in ClickHouse and has it compute their
// report, for recordings that one machine does not hold.
//
// A [Schema] is the tables: one typed table of records, on each shard and
// distributed by trace, and one that lists the inputs that are in it. [Load]
// brings files of every format that package ingest reads into them, each record
// once, also where it is killed and started again. A [Source] has its report
// computed: partial sums on each shard, which the server that is asked adds up, as
// package analyze reads them, so that the figures are those of optrace report.
// What needs the structure of single traces is read as records, bounded in number,
// and left to package analyze.
//
// The statements keep to what ClickHouse 18.16 and current versions have in common,
// so that the same text runs on both. The package has no connections of its own: it
// speaks to a [DB], and [Open] makes one of the native protocol.
package clickhouse
