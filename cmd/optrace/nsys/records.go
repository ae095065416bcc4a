package nsys

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/read/spool"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

func init() { ingest.Register("nsys", ingest.Tables{Records: Records, RecordsAt: RecordsAt}) }

// Records reads a database sequentially. It copies it first, a large one to a temporary file. name names src in errors.
func Records(src io.Reader, name string, m ingest.Memory) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		file, size, closer, err := spool.Copy(src, m.SpoolBytes, ".sqlite")
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		defer closer()
		records(file, size, name, m, yield)
	}
}

// RecordsAt reads a database of size bytes in the file called name. It yields the ranges and then the operations of
// devices, table by table.
//
// A *[op.SyntaxError] is a bad row or the damaged rest of a table, and reading goes on; any other error is the last
// value. A record's pointers are valid until the next one.
func RecordsAt(src io.ReaderAt, size int64, name string, m ingest.Memory) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		if err := besides(name); err != nil {
			yield(op.Record{}, err)
			return
		}
		records(src, size, name, m, yield)
	}
}

// besides returns an error if a log or journal beside the database holds a part of it.
func besides(path string) error {
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s beside it holds a part of the database; 'sqlite3 %s .schema' merges it",
				path+suffix, path)
		}
	}
	return nil
}

type reader struct {
	db      *sqlite.Database
	name    string
	yield   func(op.Record, error) bool
	skipped map[op.SkipReason]int64
	actual  map[string]string // names of tables by those without a suffix

	held  budget.Account
	bytes int64 // held ones

	tables
	build   *attrmap.Builder
	trace   op.TraceID
	count   int // entries of devices so far
	kernels map[int64]kernelName
	used    map[int64]bool // devices with work
}

const maxUntold = 64 << 10

func records(src io.ReaderAt, size int64, name string, m ingest.Memory, yield func(op.Record, error) bool) {
	db, err := sqlite.Open(src, size)
	if err != nil {
		yield(op.Record{}, err)
		return
	}
	r := &reader{
		db: db, name: name, yield: yield, held: budget.Account{Hold: m.Hold}, skipped: make(map[op.SkipReason]int64),
		build: attrmap.NewBuilder(nil), kernels: make(map[int64]kernelName),
		used: make(map[int64]bool),
	}
	defer r.held.Free()
	r.findTables()
	for _, table := range expected {
		if r.actual[table] == "" {
			r.skipped[op.SkipMissing+op.SkipReason(table)]++
		}
	}
	if len(r.actual) == 0 {
		yield(op.Record{}, fmt.Errorf("an SQLite database without tables of Nsight Systems; it has %s",
			some(db.Tables())))
		return
	}
	if n := db.Lacks(); n > 0 &&
		!r.fail(&op.SyntaxError{Msg: fmt.Sprintf("the last %d pages of its tables are missing", n), Truncated: true}) {
		return
	}
	if !r.readTables() {
		return
	}
	r.findSteps(r.join())
	r.startRecordings()
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		if !yield(op.Record{Skipped: op.Skipped{Reason: reason, N: r.skipped[reason]}}, nil) {
			return
		}
	}
	var models, unused []string
	if !r.scan(gpuTable, []string{"name", "cuDevice"}, func(_ int64, v []sqlite.Value) error {
		list := &models
		if n, known := v[1].Number(); known && !r.used[n] {
			list = &unused
		}
		if model := scalar.ValidUTF8(string(shortText(v[0].Text))); model != "" && !slices.Contains(*list, model) {
			*list = append(*list, model)
		}
		return nil
	}) {
		return
	}
	if models == nil {
		models = unused
	}
	if len(models) > 0 && !yield(op.Record{Resource: &op.Resource{Attrs: []op.Attr{
		{Key: attrkey.HardwareModel, Value: strings.Join(models, ", ")},
	}}}, nil) {
		return
	}
	r.identify()
	for i := range r.ranges {
		if !yield(op.Record{Entry: r.host(i)}, nil) || !r.tell(1) {
			return
		}
	}
	for _, table := range deviceTables {
		if !r.scan(table, slices.Concat(common, deviceColumns[table]), func(_ int64, v []sqlite.Value) error {
			e, err := r.device(table, v)
			if err == nil && !yield(op.Record{Entry: e}, nil) {
				return errEnough
			}
			return err
		}) {
			return
		}
	}
	var calls profiler.Calls
	for i := range r.launches {
		l := &r.launches[i]
		calls.Add(profiler.Call{
			Process: r.threads[l.thread].process, Name: r.call(l.name), Start: l.start, Matched: l.matched, End: l.worked,
		})
	}
	for _, gap := range calls.Gaps(r.count > 0, r.steps.Empty()) {
		if !yield(op.Record{Gap: &gap}, nil) {
			return
		}
	}
	for i := range r.launches {
		if e := r.outside(&r.launches[i]); e != nil && !yield(op.Record{Call: e}, nil) {
			return
		}
	}
}

// findTables finds the tables to be read, also with the suffix of another schema: NVTX_EVENTS_V2. It counts
// other tables of such names.
func (r *reader) findTables() {
	r.actual = make(map[string]string)
	known := slices.Concat(expected, deviceTables, []string{nodeTable, eventTable, exportTable, gpuTable})
	for _, table := range r.db.Tables() {
		base, _, _ := strings.Cut(table, "_V")
		switch {
		case slices.Contains(known, table), slices.Contains(known, base) && !r.db.Has(base) && r.actual[base] == "":
			r.actual[base] = table
		case slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(table, k) }):
			r.skipped[op.SkipCategory+op.SkipReason(table)]++
		}
	}
}

var errEnough = errors.New("enough")

// scan calls row with the values of each row of a table. It reports errors of row and damage of the table, and returns
// false when the consumer wants no more.
func (r *reader) scan(table string, columns []string, row func(n int64, v []sqlite.Value) error) (more bool) {
	if table = r.actual[table]; table == "" {
		return true
	}
	n := int64(0)
	for v, err := range r.db.Rows(table, columns...) {
		class := op.ErrorRecord
		if err != nil {
			class = op.ErrorDamaged
			err = fmt.Errorf("behind it, %w", err)
		} else {
			n++
			err = row(n, v)
		}
		switch {
		case err == errEnough,
			err != nil && !r.fail(&op.SyntaxError{Msg: fmt.Sprintf("table %s, row %d: %v", table, n, err),
				Class: class}),
			!r.tell(maxUntold):
			return false
		}
	}
	return true
}

func (r *reader) fail(err *op.SyntaxError) (more bool) {
	err.File = r.name
	err.Offset = -1
	return r.yield(op.Record{}, err)
}

func (r *reader) more(bytes int) { r.bytes += int64(bytes) }

// tell reports the held memory if it changed by step, and returns false if it exceeds the limit.
func (r *reader) tell(step int64) bool {
	if err := r.held.Set(r.bytes, step); err != nil {
		r.yield(op.Record{}, err)
		return false
	}
	return true
}

func some(names []string) string {
	const most = 8
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return fmt.Sprintf("%q and others", names[:most])
	}
	return fmt.Sprintf("%q", names)
}
