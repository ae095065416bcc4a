//go:build !chdb

package clickhouse_test

import "testing"

func TestOneProcess(t *testing.T) {
	t.Skip("built without the tag chdb, which brings ClickHouse into the process")
}
