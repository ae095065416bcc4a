package nsys

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
	"modernc.org/sqlite/vfs"
)

const (
	// maxTextBytes is the longest text that is used.
	maxTextBytes = 16 << 10
	// maxValueBytes is the largest value that SQLite may load.
	maxValueBytes = 1 << 20
	// minRowBytes is less than any row of a table takes in a file.
	minRowBytes = 4
	// schemaTime is how long a schema may take, which is a hundred lines.
	schemaTime = 30 * time.Second
)

// database is an SQLite database that is only read.
type database struct {
	size   int64
	files  *vfs.FS
	db     *sql.DB
	conn   *sql.Conn
	tables map[string]map[string]bool // the columns by table
}

// openDatabase opens the database in a file of size bytes and reads its schema.
func openDatabase(src io.ReaderAt, size int64) (*database, error) {
	name, files, err := vfs.New(&oneFile{src: src, size: size})
	if err != nil {
		return nil, err
	}
	d := &database{size: size, files: files, tables: make(map[string]map[string]bool)}
	if d.db, err = sql.Open("sqlite", "file:database?mode=ro&immutable=1&vfs="+name); err == nil {
		err = d.readSchema()
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *database) readSchema() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), schemaTime)
	defer cancel()
	if d.conn, err = d.db.Conn(ctx); err != nil {
		return err
	}
	if _, err = sqlite.Limit(d.conn, sqlite3.SQLITE_LIMIT_LENGTH, maxValueBytes); err != nil {
		return err
	}
	for _, pragma := range []string{"trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY"} {
		if _, err := d.conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return fmt.Errorf("table sqlite_schema: %w", err)
		}
	}
	rows, err := d.conn.QueryContext(ctx, `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE%'`)
	if err != nil {
		return fmt.Errorf("table sqlite_schema: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return fmt.Errorf("table sqlite_schema: %w", err)
		}
		if d.tables[table] == nil {
			d.tables[table] = make(map[string]bool)
		}
		d.tables[table][column] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("table sqlite_schema: %w", err)
	}
	return nil
}

func (d *database) close() {
	// What was only read is lost by no error.
	if d.conn != nil {
		_ = d.conn.Close()
	}
	if d.db != nil {
		_ = d.db.Close()
	}
	_ = d.files.Close()
}

// errTooManyRows is the error of a table whose pages refer to each other.
var errTooManyRows = errors.New("more rows than the file has room for")

// scan calls row with the values of each row of a table, numbered from 1, until it returns false. A
// column that the table lacks is nil; one whose name starts with a quote is text, of which one that
// is too long is its length.
func (d *database) scan(table string, columns []string, row func(n int64, values []driver.Value) bool) error {
	list := make([]string, len(columns))
	for i, c := range columns {
		name, text := strings.CutPrefix(c, "'")
		switch {
		case !d.tables[table][name]:
			list[i] = "NULL"
		case text:
			list[i] = fmt.Sprintf(`CASE WHEN octet_length("%[1]s") <= %[2]d THEN "%[1]s" ELSE octet_length("%[1]s") END`, name, maxTextBytes)
		default:
			list[i] = `"` + name + `"`
		}
	}
	query := fmt.Sprintf(`SELECT %s FROM "%s"`, cmp.Or(strings.Join(list, ", "), "NULL"), table)
	err := d.conn.Raw(func(conn any) error {
		// Without package sql in between, which takes half of the time.
		rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		values := make([]driver.Value, max(1, len(columns)))
		for n := int64(1); ; n++ {
			if err := rows.Next(values); err != nil {
				return err
			}
			if n > d.size/minRowBytes {
				return errTooManyRows
			}
			if !row(n, values) {
				return nil
			}
		}
	})
	if err == io.EOF {
		return nil
	}
	return err
}

// besides returns an error where there is a file beside a database without which it is not whole.
func besides(path string) error {
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s beside it holds a part of the database; 'sqlite3 %s .schema' puts it back", path+suffix, path)
		}
	}
	return nil
}

// oneFile is a file system of one file, whatever its name.
type oneFile struct {
	src  io.ReaderAt
	size int64
}

// Open implements fs.FS.
func (f *oneFile) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-journal") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{SectionReader: io.NewSectionReader(f.src, 0, f.size)}, nil
}

// openFile is the database as SQLite sees it.
type openFile struct{ *io.SectionReader }

// Read implements io.Reader. Of a database that has had a write-ahead log, of which nothing is left,
// it reads the header of one that has had none: SQLite asks for shared memory otherwise.
func (f *openFile) Read(p []byte) (int, error) {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	n, err := f.SectionReader.Read(p)
	const writeVersion, readVersion, wal, rollback = 18, 19, 2, 1
	for i := int64(writeVersion); i <= readVersion; i++ {
		if at <= i && i < at+int64(n) && p[i-at] == wal {
			p[i-at] = rollback
		}
	}
	return n, err
}

// Stat implements fs.File.
func (f *openFile) Stat() (fs.FileInfo, error) { return fileInfo(f.Size()), nil }

// Close implements io.Closer.
func (*openFile) Close() error { return nil }

// fileInfo is the size of a file.
type fileInfo int64

func (i fileInfo) Size() int64      { return int64(i) }
func (fileInfo) Name() string       { return "database" }
func (fileInfo) Mode() fs.FileMode  { return 0o444 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Sys() any           { return nil }
