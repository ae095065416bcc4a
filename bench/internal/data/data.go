// Package data keeps generated files.
package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// File is a generated file.
type File struct {
	Path string
	workload.Summary
	// Size is in bytes, CRC its checksum.
	Size int64
	CRC  uint32
}

// The names in the directory of a file.
const (
	spansName = "spans"
	aboutName = "about.json"
)

// Get returns the file of a configuration and format, which is made if it is not
// in the cache. It has just been read as a whole: nobody is the first.
func Get(env *measure.Env, f workload.Format, c workload.Config) (File, error) {
	key, err := workload.Fingerprint(f, c)
	if err != nil {
		return File{}, err
	}
	var file File
	valid := func(dir string) (err error) {
		file, err = load(dir)
		return err
	}
	dir, err := cache.Get(env.Cache, fmt.Sprintf("%s-%s-%s", f, c, key), valid, func(dir string) error {
		env.Log("generating %d operations as %s", c.Ops, f)
		return generate(dir, f, c)
	})
	if err != nil {
		return File{}, err
	}
	return file, valid(dir)
}

func generate(dir string, f workload.Format, c workload.Config) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var file File
	var err error
	path := filepath.Join(dir, spansName)
	if file.Summary, err = workload.WriteFile(path, f, c); err != nil {
		return err
	}
	if file.Size, file.CRC, err = checksum(path); err != nil {
		return err
	}
	about, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, aboutName), about, 0o644)
}

// load returns the file in dir, or an error if it is not as it was written.
func load(dir string) (File, error) {
	var file File
	about, err := os.ReadFile(filepath.Join(dir, aboutName))
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(about, &file); err != nil {
		return file, err
	}
	file.Path = filepath.Join(dir, spansName)
	size, crc, err := checksum(file.Path)
	if err == nil && (size != file.Size || crc != file.CRC) {
		err = fmt.Errorf("%s is damaged", file.Path)
	}
	return file, err
}

// checksum reads a file. CRC-32C is an instruction of the processor.
func checksum(path string) (size int64, crc uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	size, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return size, h.Sum32(), err
}
