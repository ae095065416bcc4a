// Runs the queries of docs/queries.md for the tests of package parquet.
//
//	node queries.mjs duckdb DIR   runs the statements of DIR/queries.sql there, and
//	                              prints the rows of each that has any
//	node queries.mjs polars DIR   runs DIR/queries.js there, and prints the frames
//	                              byOperation and byDevice that it makes
import fs from "node:fs";
import process from "node:process";

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
async function frames() {
  const { default: polars } = await import("nodejs-polars");
  const body = fs.readFileSync("queries.js", "utf8") + "\nreturn [byOperation, byDevice];";
  return new Function("pl", body)(polars).map((frame) => frame.toRecords());
}

const [engine, dir] = process.argv.slice(2);
process.chdir(dir);
const answers = await { duckdb: statements, polars: frames }[engine]();
console.log(JSON.stringify(answers, (_, v) => (typeof v === "object" ? v : String(v))));
