// Package oracle compares this project's readers and writers with other libraries: pdata of the Collector, pprof's
// profile, a validator of JSON schemas, Parquet and SQLite. The tested packages do not depend on these.
package oracle_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// root is the folder of the repository.
const root = "../../../.."

// samples returns the files read by the tests of all packages.
func samples(tb testing.TB) (paths []string) {
	tb.Helper()
	check.OK(tb, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bench" || d.Name() == "node_modules" ||
			d.Name() == "fuzz"):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(filepath.ToSlash(path), "/testdata/") &&
			filepath.Ext(path) != ".golden":
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}
