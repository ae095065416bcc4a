package oracle_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// tables are definitions of tables with the columns a to d, partly computed, beside others.
var tables = []string{
	"CREATE TABLE t (a, b, c, d)",
	"create table if not exists t (a INTEGER PRIMARY KEY, b TEXT, c NUMERIC, d BLOB)",
	"CREATE TABLE \"t\" (\n  b TEXT DEFAULT (1 + 2), -- not a, the \"first\"\n  a INTEGER, /* , x */ c, d, PRIMARY " +
		"KEY (a))",
	"CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10, 2) NOT NULL DEFAULT ')', [c], `d`, CHECK (a <> 'x,y'))",
	"CREATE TABLE t (x AS (a + 1), a, b, y INT GENERATED ALWAYS AS (1) STORED, c, \"d\", UNIQUE (a, b))",
	"CREATE TABLE t (a INTEGER, b INTEGER, c, d, CONSTRAINT \"k\" PRIMARY KEY (b, a))",
}

// literal returns a value as an SQL literal.
func literal(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return "NULL"
	case 1:
		return fmt.Sprint(r.Float64())
	case 2:
		return fmt.Sprintf("zeroblob(%d)", r.IntN(40))
	case 3, 4:
		return fmt.Sprintf("'%s'", strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(1<<r.IntN(14))))
	}
	return fmt.Sprint((r.Int64() - math.MaxInt64/2) >> r.IntN(64))
}

// Tables read as SQLite reads them.
func TestAgainstSQLite(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		path := filepath.Join(t.TempDir(), "db")
		db := check.Must(sql.Open("sqlite", path))(t)
		defer db.Close()
		db.SetMaxOpenConns(1)
		do := func(statement string) {
			if _, err := db.Exec(statement); err != nil && !strings.Contains(err.Error(), "constraint") &&
				!strings.Contains(err.Error(), "mismatch") {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		do(fmt.Sprintf("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA page_size = %d; "+
			"PRAGMA auto_vacuum = %d; CREATE TABLE other (x)", 512<<r.IntN(8), r.IntN(2)))
		do(tables[r.IntN(len(tables))])
		do("BEGIN")
		for range r.IntN(1 << r.IntN(9)) {
			do(fmt.Sprintf("INSERT INTO t (a, b, c, d) VALUES (%s, %s, %s, %s)", literal(r), literal(r), literal(r),
				literal(r)))
		}
		do("DELETE FROM t WHERE rowid % 7 = 0; ALTER TABLE t ADD COLUMN e; INSERT INTO other VALUES (1)")
		for range r.IntN(20) {
			do(fmt.Sprintf("INSERT INTO t (a, b, e) VALUES (%s, %s, %s)", literal(r), literal(r), literal(r)))
		}
		do("COMMIT")
		want, got := "", ""
		rows := check.Must(db.Query("SELECT a, e, b, d, c FROM t ORDER BY rowid"))(t)
		for rows.Next() {
			var v [5]any
			check.OK(t, rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4]))
			for _, v := range v {
				switch v := v.(type) {
				case float64:
					want += "real "
				case []byte:
					want += fmt.Sprintf("%x ", v)
				case nil:
					want += "null "
				default:
					want += fmt.Sprintf("%v ", v)
				}
			}
			want += "\n"
		}
		check.OK(t, rows.Err())
		rows.Close()
		file := check.Must(os.ReadFile(path))(t)
		d, err := sqlite.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff([]string{"other", "t"}, d.Tables()); diff != "" || d.Lacks() != 0 || d.Has("x") {
			t.Errorf("seed %d: tables (-want +got):\n%s", seed, diff)
		}
		for v, err := range d.Rows("t", "a", "e", "b", "d", "c", "none") {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, v := range v[:5] {
				switch v.Kind {
				case sqlite.Null:
					got += "null "
				case sqlite.Integer:
					got += fmt.Sprintf("%d ", v.Int)
				case sqlite.Real:
					got += "real "
				case sqlite.Text:
					got += string(v.Text) + " "
				case sqlite.Blob:
					got += fmt.Sprintf("%x ", v.Text)
				}
			}
			if got += "\n"; v[5].Kind != sqlite.Null {
				t.Errorf("seed %d: a column that is not there is %v", seed, v[5])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-want +got):\n%.4000s", seed, diff)
		}
	})
}
