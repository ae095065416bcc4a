package read

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
)

// readPdataJSON reads OTLP JSON Lines with pdata.
func readPdataJSON(path string) (*analyze.Report, error) {
	var u ptrace.JSONUnmarshaler
	w := newWalker()
	err := eachLine(path, func(line []byte) error {
		td, err := u.UnmarshalTraces(line)
		if err == nil {
			w.traces(td)
		}
		return err
	})
	return report(w.profile), err
}

// readPdataProto reads frames of OTLP protobuf with pdata.
func readPdataProto(path string) (*analyze.Report, error) {
	var u ptrace.ProtoUnmarshaler
	w := newWalker()
	err := eachFrame(path, func(frame []byte) error {
		td, err := u.UnmarshalTraces(frame)
		if err == nil {
			w.traces(td)
		}
		return err
	})
	return report(w.profile), err
}

// eachLine calls f with the lines of a file, which belong to it until f returns.
func eachLine(path string, f func(line []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// eachFrame calls f with the frames of a file, which belong to it until f
// returns.
func eachFrame(path string, f func(frame []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := bufio.NewReaderSize(file, 1<<20)
	var head [4]byte
	var frame []byte
	for {
		if _, err := io.ReadFull(in, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint32(head[:]))
		if cap(frame) < n {
			frame = make([]byte, n)
		}
		frame = frame[:n]
		if _, err := io.ReadFull(in, frame); err != nil {
			return err
		}
		if err := f(frame); err != nil {
			return err
		}
	}
}
