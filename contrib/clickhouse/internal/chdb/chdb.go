//go:build chdb

// Package chdb runs ClickHouse within the process, by the library libchdb.so, which the
// linker has to find: for the tests, of a version that is current. It is built with the
// tag chdb and has no neighbours.
package chdb

/*
#cgo LDFLAGS: -lchdb
#include <stdlib.h>

typedef void *connection, *answer;
connection *chdb_connect(int argc, char **argv);
void chdb_close_conn(connection *);
answer *chdb_query_n(connection, const char *query, size_t, const char *format, size_t);
char *chdb_result_buffer(answer *);
size_t chdb_result_length(answer *);
const char *chdb_result_error(answer *);
void chdb_destroy_query_result(answer *);
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"
)

// Engine is a database in this process. There is one at a time.
type Engine struct {
	mu   sync.Mutex
	conn *C.connection
}

// Open opens the database in a directory.
func Open(dir string) (*Engine, error) {
	args := []*C.char{C.CString("clickhouse"), C.CString("--path=" + dir)}
	for _, a := range args {
		defer C.free(unsafe.Pointer(a))
	}
	conn := C.chdb_connect(C.int(len(args)), &args[0])
	if conn == nil {
		return nil, errors.New("the engine does not start")
	}
	return &Engine{conn: conn}, nil
}

// Close ends the engine.
func (e *Engine) Close() { C.chdb_close_conn(e.conn) }

// Run runs a statement and returns the answer in a format.
func (e *Engine) Run(statement, format string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, f := C.CString(statement), C.CString(format)
	defer C.free(unsafe.Pointer(q))
	defer C.free(unsafe.Pointer(f))
	result := C.chdb_query_n(*e.conn, q, C.size_t(len(statement)), f, C.size_t(len(format)))
	if result == nil {
		return nil, errors.New("the engine gives no answer")
	}
	defer C.chdb_destroy_query_result(result)
	if text := C.chdb_result_error(result); text != nil {
		return nil, errors.New(C.GoString(text))
	}
	return C.GoBytes(unsafe.Pointer(C.chdb_result_buffer(result)), C.int(C.chdb_result_length(result))), nil
}
