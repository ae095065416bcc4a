//go:build chdb

package clickhouse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/contrib/clickhouse/internal/chdb"
	"github.com/optrace/optrace/internal/check"
)

// A current ClickHouse computes what package analyze does, by the statements that two shards of an
// old one get.
func TestOneProcess(t *testing.T) {
	engine := check.Must(chdb.Open(t.TempDir()))(t)
	defer engine.Close()
	db := processDB{engine}
	version := ""
	check.OK(t, db.Query(t.Context(), "SELECT version()", func(scan func(...any) error) error { return scan(&version) }))
	t.Logf("ClickHouse %s", version)
	check.OK(t, (clickhouse.Schema{}).Apply(t.Context(), db))
	t.Run("view", func(t *testing.T) { testView(t, db) })
	testSuite(t, db, func(t *testing.T) {
		for _, table := range []string{"optrace_ops", "optrace_inputs"} {
			check.OK(t, db.Exec(t.Context(), "TRUNCATE TABLE "+table))
		}
	})
}

type processDB struct{ engine *chdb.Engine }

func (db processDB) Exec(_ context.Context, statement string) error {
	_, err := db.engine.Run(statement, "JSONCompactEachRow")
	return err
}

func (db processDB) Query(_ context.Context, query string, row func(func(...any) error) error) error {
	answer, err := db.engine.Run(query, "JSONCompactEachRow")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(answer) {
		scan := func(places ...any) error {
			var values []json.RawMessage
			if err := json.Unmarshal(line, &values); err != nil {
				return err
			}
			if len(values) != len(places) {
				return fmt.Errorf("%d values for %d places", len(values), len(places))
			}
			for i, v := range values {
				if err := json.Unmarshal(v, places[i]); err != nil {
					return fmt.Errorf("column %d: %w", i, err)
				}
			}
			return nil
		}
		if err := row(scan); err != nil {
			return err
		}
	}
	return nil
}

func (db processDB) Insert(_ context.Context, _, table string, columns []string) (clickhouse.Batch, error) {
	b := &processBatch{db: db}
	b.text.WriteString("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") FORMAT JSONCompactEachRow\n")
	return b, nil
}

type processBatch struct {
	db   processDB
	text bytes.Buffer
}

func (b *processBatch) Append(values ...any) error {
	row := make([]any, len(values))
	for i, v := range values {
		row[i] = v
		switch list := reflect.ValueOf(v); {
		case list.Kind() != reflect.Slice:
		case list.IsNil():
			row[i] = []int{}
		case list.Type() == reflect.TypeFor[[]uint8](): // which would be one text
			row[i] = numbersOf(v.([]uint8))
		}
	}
	line, err := json.Marshal(row)
	b.text.Write(append(line, '\n'))
	return err
}

func numbersOf(list []uint8) []int {
	numbers := make([]int, len(list))
	for i, n := range list {
		numbers[i] = int(n)
	}
	return numbers
}

func (b *processBatch) Send() error {
	return b.db.Exec(context.Background(), b.text.String())
}

func (b *processBatch) Abort() error { return nil }
