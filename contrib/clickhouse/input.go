package clickhouse

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze"
)

// input is a loaded file.
type input struct {
	id     uint64 // first bytes of the digest
	digest string // SHA-256 of the stored file, in hexadecimal
	path   string
	loaded int64 // Unix nanoseconds
	rows   uint64
	// statedMore and states describe the totals in seed traces.
	statedMore int64
	states     bool
	envelope   analyze.Envelope
}

// identify returns the input for a file.
func identify(path string) (*input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading input: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return nil, fmt.Errorf("reading input: %w", err)
	}
	sum := hash.Sum(nil)
	return &input{id: binary.BigEndian.Uint64(sum), digest: hex.EncodeToString(sum), path: path}, nil
}

// readInputs returns the completely loaded inputs in the order of loading.
func readInputs(ctx context.Context, db DB) ([]*input, error) {
	var inputs []*input
	var in input
	var envelope string
	var states uint8
	var places []place
	for i, to := range []any{&in.id, &in.digest, &in.path, &in.loaded, &in.rows, &in.statedMore, &states, &envelope} {
		places = append(places, place{inputColumns[i].name, to})
	}
	err := ask(ctx, db, places, fmt.Sprintf("%s LIMIT %d", tableInputs, maxInputs+1), func() error {
		in.states = states != 0
		in.envelope = analyze.Envelope{}
		if err := json.Unmarshal([]byte(envelope), &in.envelope); err != nil {
			return fmt.Errorf("input %s: %w", in.path, err)
		}
		inputs = append(inputs, new(in))
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the list of inputs: %w", err)
	case len(inputs) > maxInputs:
		return nil, fmt.Errorf("there are more than %d inputs", maxInputs)
	}
	slices.SortFunc(inputs,
		func(a, b *input) int { return cmp.Or(cmp.Compare(a.loaded, b.loaded), cmp.Compare(a.id, b.id)) })
	// An input is listed twice if a loader was killed between the rows.
	return slices.CompactFunc(inputs, func(a, b *input) bool { return a.id == b.id && a.digest == b.digest }), nil
}

// findInput returns the loaded input with in's id, or nil. A different file with the same id is an error.
func findInput(ctx context.Context, db DB, in *input) (*input, error) {
	inputs, err := readInputs(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, other := range inputs {
		switch {
		case other.id != in.id:
		case other.digest == in.digest:
			return other, nil
		default:
			return nil, fmt.Errorf("%s and the loaded file %s have the same number %d", in.path, other.path,
				in.id)
		}
	}
	return nil, nil
}

// complete lists in as completely loaded.
func (in *input) complete(ctx context.Context, db DB) error {
	in.loaded = time.Now().UnixNano()
	envelope, err := json.Marshal(&in.envelope)
	if err != nil {
		return err
	}
	batch, err := db.Insert(ctx, "", tableInputs, namesOf(inputColumns))
	if err != nil {
		return fmt.Errorf("listing %s: %w", in.path, err)
	}
	err = batch.Append(in.id, in.digest, in.path, in.loaded, in.rows, in.statedMore, number(in.states),
		string(envelope))
	if err == nil {
		err = batch.Send()
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", in.path, err)
	}
	return nil
}
