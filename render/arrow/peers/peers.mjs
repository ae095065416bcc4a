// Reads and writes Arrow with apache-arrow and polars, and Parquet with DuckDB,
// for the tests of render/arrow.
//
//	node peers.mjs read FILE    prints what each of the two finds in a stream
//	node peers.mjs write DIR    writes a table of operations in the forms of each
//	node peers.mjs duckdb DIR   runs the statements of DIR/queries.sql there, and
//	                            prints the rows of each that has any
//	node peers.mjs polars DIR   runs DIR/queries.js there, and prints the frames
//	                            byOperation and byDevice that it makes
import fs from "node:fs";
import path from "node:path";
import * as arrow from "apache-arrow";
import polars from "nodejs-polars";

const [command, where] = process.argv.slice(2);
const plain = (_, v) => (typeof v === "bigint" ? v.toString() : v);

// rows returns the rows of a stream as each reader has them.
function rows(file) {
  const bytes = fs.readFileSync(file);
  const table = arrow.tableFromIPC(bytes);
  const frame = polars.readIPCStream(bytes);
  return {
    "apache-arrow": table.toArray().map((r) => r.toJSON()),
    polars: frame.toRecords(),
  };
}

// sums returns a query over the operations of a stream by each reader.
function sums(file) {
  const bytes = fs.readFileSync(file);
  const byArrow = {};
  for (const batch of arrow.RecordBatchReader.from(bytes)) {
    for (const row of batch) {
      if (row.record === "entry") byArrow[row.operation] = (byArrow[row.operation] ?? 0n) + row.duration_ns;
    }
  }
  const frame = polars
    .readIPCStream(bytes)
    .filter(polars.col("record").cast(polars.Utf8).eq(polars.lit("entry")))
    .withColumns(polars.col("operation").cast(polars.Utf8))
    .groupBy("operation")
    .agg(polars.col("duration_ns").sum());
  const byPolars = {};
  for (const r of frame.toRecords()) byPolars[r.operation] = r.duration_ns;
  return { "apache-arrow": byArrow, polars: byPolars };
}

// write writes the same operations with both writers.
function write(dir) {
  const n = 200;
  const names = Array.from({ length: n }, (_, i) => ["matmul", "relu", "all_reduce"][i % 3]);
  const durations = Array.from({ length: n }, (_, i) => 1000 + i);
  const devices = Array.from({ length: n }, (_, i) => (i % 5 ? `cuda:${i % 2}` : null));
  const shapes = Array.from({ length: n }, (_, i) => (i % 7 ? [64, i % 4] : null));
  const frame = polars.DataFrame({
    operation: polars.Series("operation", names, polars.Utf8),
    duration_ns: polars.Series("duration_ns", durations, polars.Int64),
    device_id: polars.Series("device_id", devices, polars.Utf8),
    output_shape: polars.Series("output_shape", shapes, polars.List(polars.Int64)),
    start_unix_ns: polars.Series("start_unix_ns", durations.map((d) => new Date(1795224124000 + d)), polars.Datetime("ms")),
  });
  const categorical = frame.withColumns(polars.col("operation").cast(polars.Categorical));
  const at = (name) => path.join(dir, name);
  frame.writeIPC(at("polars.arrow"));
  frame.writeIPC(at("polars-zstd.arrow"), { compression: "zstd" });
  frame.writeIPC(at("polars-lz4.arrow"), { compression: "lz4" });
  categorical.writeIPCStream(at("polars-categorical.arrows"));
  const table = arrow.tableFromArrays({
    operation: names, // becomes a dictionary
    duration_ns: BigInt64Array.from(durations, BigInt),
    step: Int32Array.from(durations),
  });
  fs.writeFileSync(at("apache-arrow.arrows"), arrow.tableToIPC(table, "stream"));
  fs.writeFileSync(at("apache-arrow.arrow"), arrow.tableToIPC(table, "file"));
}

// statements runs the statements of DuckDB.
async function statements() {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const answers = [];
  for (const statement of fs.readFileSync("queries.sql", "utf8").split(";")) {
    if (!statement.trim()) continue;
    const rows = (await connection.runAndReadAll(statement)).getRowObjectsJson();
    if (rows.length && !("Count" in rows[0])) answers.push(rows);
  }
  return answers;
}

// frames runs the lines of polars.
function frames() {
  const body = fs.readFileSync("queries.js", "utf8") + "\nreturn [byOperation, byDevice];";
  return new Function("pl", "fs", body)(polars, fs).map((frame) => frame.toRecords());
}

switch (command) {
  case "read":
    console.log(JSON.stringify(rows(where), plain));
    break;
  case "sum":
    console.log(JSON.stringify(sums(where), plain));
    break;
  case "write":
    write(where);
    break;
  case "duckdb":
    process.chdir(where);
    console.log(JSON.stringify(await statements(), plain));
    break;
  case "polars":
    process.chdir(where);
    console.log(JSON.stringify(frames(), plain));
    break;
  default:
    throw new Error(`unknown command ${command}`);
}
