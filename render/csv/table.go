package csv

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/optrace/optrace/op"
)

type column[T any] struct {
	name string
	add  func(w *writer, row *T) // adds the field
}

// fields returns columns for fields of T. The list gives their JSON names; a dot joins the name of a field and of a
// field within it. A column has the same name, with underscores for dots, unless "name=" precedes the field. Fields
// behind a nil pointer are unknown.
func fields[T any](list string) []column[T] {
	var columns []column[T]
	for key := range strings.FieldsSeq(list) {
		name, key, renamed := strings.Cut(key, "=")
		if !renamed {
			name, key = strings.ReplaceAll(name, ".", "_"), name
		}
		var path [][]int
		at := reflect.TypeFor[T]()
		for part := range strings.SplitSeq(key, ".") {
			f := fieldOf(at, part)
			path = append(path, f.Index)
			at = f.Type
		}
		columns = append(columns, column[T]{name, func(w *writer, row *T) {
			v := reflect.ValueOf(row)
			for _, index := range path {
				if v = reflect.Indirect(v); !v.IsValid() {
					w.plain("", false)
					return
				}
				v = v.FieldByIndex(index)
			}
			w.value(v.Addr().Interface())
		}})
	}
	return columns
}

// fieldOf returns the field with a JSON name of t, or of the type that t points to.
func fieldOf(t reflect.Type, name string) reflect.StructField {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f
		}
	}
	panic(fmt.Sprintf("csv: %v has no %s", t, name))
}

// value adds the field at a pointer, for all types in rows of reports.
func (w *writer) value(at any) {
	switch at := at.(type) {
	case *string:
		w.text(*at)
	case *int64:
		w.int(*at)
	case *op.Int:
		w.plain(at.String(), at.Known)
	case *float64:
		w.float(*at, true)
	case *op.Float:
		w.float(at.V, at.Known)
	case *[]string:
		w.text(strings.Join(*at, " "))
	case fmt.Stringer: // an id
		w.text(at.String())
	default: // a text of a type of its own
		w.text(reflect.ValueOf(at).Elem().String())
	}
}

type tableWriter[T any] struct {
	writer
	columns []column[T]
}

func newTable[T any](w io.Writer, opts Options, columns []column[T]) (*tableWriter[T], error) {
	t := &tableWriter[T]{writer{csv: csv.NewWriter(w), opts: opts}, columns}
	for _, c := range columns {
		t.plain(c.name, true)
	}
	return t, t.end()
}

func (t *tableWriter[T]) write(row *T) error {
	for i := range t.columns {
		t.columns[i].add(&t.writer, row)
	}
	return t.end()
}

func writeTable[T any](w io.Writer, opts Options, rows []T, columns []column[T]) error {
	t, err := newTable(w, opts, columns)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := t.write(&rows[i]); err != nil {
			return err
		}
	}
	return t.flush()
}
