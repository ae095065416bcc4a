// Runs one SQL statement with DuckDB, in memory and with its default settings,
// and prints the rows as JSON objects.
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const result = await connection.runAndReadAll(process.argv[2]);
console.log(JSON.stringify(result.getRowObjectsJson()));
