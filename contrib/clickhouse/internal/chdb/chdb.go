//go:build chdb

// Package chdb runs ClickHouse within the process, by the library libchdb.so: for the
// tests, of a version that is current. It is built with the tag chdb and has no
// neighbours.
package chdb

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

typedef void *(*connect_t)(int, char **);
typedef void (*close_t)(void *);
typedef void *(*query_t)(void *, const char *, size_t, const char *, size_t);
typedef char *(*buffer_t)(void *);
typedef size_t (*length_t)(void *);
typedef const char *(*error_t)(void *);
typedef void (*destroy_t)(void *);

static void *connect_to(void *f, int argc, char **argv) { return ((connect_t)f)(argc, argv); }
static void close_conn(void *f, void *conn) { ((close_t)f)(conn); }
static void *run(void *f, void *conn, const char *q, size_t n, const char *format, size_t m) {
	return ((query_t)f)(*(void **)conn, q, n, format, m);
}
static char *buffer(void *f, void *result) { return ((buffer_t)f)(result); }
static size_t length(void *f, void *result) { return ((length_t)f)(result); }
static const char *failure(void *f, void *result) { return ((error_t)f)(result); }
static void destroy(void *f, void *result) { ((destroy_t)f)(result); }
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// Engine is a database in this process. There is one at a time.
type Engine struct {
	mu        sync.Mutex
	library   unsafe.Pointer
	functions map[string]unsafe.Pointer
	conn      unsafe.Pointer
}

// Open opens the database in a directory.
func Open(library, dir string) (*Engine, error) {
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	e := &Engine{library: C.dlopen(path, C.RTLD_NOW), functions: make(map[string]unsafe.Pointer)}
	if e.library == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	for _, name := range []string{
		"chdb_connect", "chdb_close_conn", "chdb_query_n", "chdb_result_buffer", "chdb_result_length", "chdb_result_error",
		"chdb_destroy_query_result",
	} {
		symbol := C.CString(name)
		e.functions[name] = C.dlsym(e.library, symbol)
		C.free(unsafe.Pointer(symbol))
		if e.functions[name] == nil {
			return nil, fmt.Errorf("%s has no %s", library, name)
		}
	}
	args := []*C.char{C.CString("clickhouse"), C.CString("--path=" + dir)}
	for _, a := range args {
		defer C.free(unsafe.Pointer(a))
	}
	if e.conn = C.connect_to(e.functions["chdb_connect"], C.int(len(args)), &args[0]); e.conn == nil {
		return nil, errors.New("the engine does not start")
	}
	return e, nil
}

// Close ends the engine.
func (e *Engine) Close() { C.close_conn(e.functions["chdb_close_conn"], e.conn) }

// Run runs a statement and returns the answer in a format.
func (e *Engine) Run(statement, format string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, f := C.CString(statement), C.CString(format)
	defer C.free(unsafe.Pointer(q))
	defer C.free(unsafe.Pointer(f))
	result := C.run(e.functions["chdb_query_n"], e.conn, q, C.size_t(len(statement)), f, C.size_t(len(format)))
	if result == nil {
		return nil, errors.New("the engine gives no answer")
	}
	defer C.destroy(e.functions["chdb_destroy_query_result"], result)
	if text := C.failure(e.functions["chdb_result_error"], result); text != nil {
		return nil, errors.New(C.GoString(text))
	}
	n := C.length(e.functions["chdb_result_length"], result)
	return C.GoBytes(unsafe.Pointer(C.buffer(e.functions["chdb_result_buffer"], result)), C.int(n)), nil
}
