package clickhouse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/internal/testing/check"
)

// A current ClickHouse in this process runs the same statements as an old one with two shards.
func TestOneProcess(t *testing.T) {
	db := openLibrary(t)
	version := ""
	check.OK(t, db.Query(t.Context(), "SELECT version()",
		func(scan func(...any) error) error { return scan(&version) }))
	t.Logf("ClickHouse %s", version)
	check.OK(t, (clickhouse.Schema{}).Apply(t.Context(), db))
	t.Run("view", func(t *testing.T) { testView(t, db) })
	testSuite(t, db, func(t *testing.T) {
		for _, table := range []string{"optrace_ops", "optrace_inputs"} {
			check.OK(t, db.Exec(t.Context(), "TRUNCATE TABLE "+table))
		}
	})
}

// libraryVariable names libchdb.so. The test is skipped without it.
const libraryVariable = "OPTRACE_CHDB"

// processDB is ClickHouse in this process. Only one can exist at a time.
type processDB struct {
	mu      sync.Mutex
	conn    *uintptr
	run     func(conn uintptr, query string, size int, format string, formatSize int) (answer uintptr)
	text    func(answer uintptr) *byte
	length  func(answer uintptr) int
	problem func(answer uintptr) string
	free    func(answer uintptr)
}

func openLibrary(t *testing.T) *processDB {
	path := os.Getenv(libraryVariable)
	if path == "" {
		t.Skipf("%s does not name libchdb.so", libraryVariable)
	}
	lib := check.Must(purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL))(t)
	db := new(processDB)
	var connect func(n int32, args **byte) *uintptr
	var disconnect func(*uintptr)
	for name, f := range map[string]any{
		"connect": &connect, "close_conn": &disconnect, "query_n": &db.run, "result_buffer": &db.text,
		"result_length": &db.length, "result_error": &db.problem, "destroy_query_result": &db.free,
	} {
		purego.RegisterLibFunc(f, lib, "chdb_"+name)
	}
	args := []*byte{&[]byte("clickhouse\x00")[0], &[]byte("--path=" + t.TempDir() + "\x00")[0]}
	if db.conn = connect(int32(len(args)), &args[0]); db.conn == nil {
		t.Fatal("the engine does not start")
	}
	t.Cleanup(func() { disconnect(db.conn) })
	return db
}

func (db *processDB) answer(statement string) ([]byte, error) {
	const format = "JSONCompactEachRow"
	db.mu.Lock()
	defer db.mu.Unlock()
	answer := db.run(*db.conn, statement, len(statement), format, len(format))
	if answer == 0 {
		return nil, errors.New("the engine gives no answer")
	}
	defer db.free(answer)
	if problem := db.problem(answer); problem != "" {
		return nil, errors.New(problem)
	}
	return bytes.Clone(unsafe.Slice(db.text(answer), db.length(answer))), nil
}

func (db *processDB) Exec(_ context.Context, statement string) error {
	_, err := db.answer(statement)
	return err
}

func (db *processDB) Query(_ context.Context, query string, row func(func(...any) error) error) error {
	answer, err := db.answer(query)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(answer) {
		scan := func(places ...any) error {
			n := len(places)
			if err := json.Unmarshal(line, &places); err != nil || len(places) != n { // fills the pointers
				return fmt.Errorf("%d values for %d places: %w", len(places), n, err)
			}
			return nil
		}
		if err := row(scan); err != nil {
			return err
		}
	}
	return nil
}

func (db *processDB) Insert(_ context.Context, _, table string, columns []string) (clickhouse.Batch, error) {
	b := &processBatch{db: db}
	b.text.WriteString("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") FORMAT JSONCompactEachRow\n")
	return b, nil
}

type processBatch struct {
	db   *processDB
	text bytes.Buffer
}

func (b *processBatch) Append(values ...any) error {
	row := slices.Clone(values)
	for i, v := range values {
		// bytes would become a text, and an empty list null
		if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
			elements := []any{}
			for _, e := range list.Seq2() {
				elements = append(elements, e.Interface())
			}
			row[i] = elements
		}
	}
	line, err := json.Marshal(row)
	b.text.Write(append(line, '\n'))
	return err
}

func (b *processBatch) Send() error {
	return b.db.Exec(context.Background(), b.text.String())
}

func (b *processBatch) Abort() error { return nil }
