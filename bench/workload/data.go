package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/bench/measure"
)

// File is a file in the cache.
type File struct {
	Path string
	Summary
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
// in the cache. It has just been read as a whole, so that it is in the page cache.
func Get(ctx context.Context, env *measure.Env, f Format, c Config) (File, error) {
	if err := c.validate(f); err != nil {
		return File{}, err
	}
	key, err := fingerprint(f, c)
	if err != nil {
		return File{}, err
	}
	var file File
	valid := func(dir string) (err error) {
		file, err = load(dir)
		return err
	}
	dir, err := env.Prepared(fmt.Sprintf("%s-%s-%s", f, c, key), valid, func(dir string) error {
		env.Log("preparing %d operations, %s, as %s", c.Ops, c.Kind, f)
		return generate(ctx, env, dir, f, c)
	})
	if err != nil {
		return File{}, err
	}
	return file, valid(dir)
}

func generate(ctx context.Context, env *measure.Env, dir string, f Format, c Config) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var file File
	var err error
	path := filepath.Join(dir, spansName)
	switch {
	case c.Kind == Recorded:
		file.Summary, err = writeRecorded(ctx, env, path, f, c)
	default:
		file.Summary, err = WriteFile(path, f, c)
	}
	if err != nil {
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
