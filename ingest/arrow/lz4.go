package arrow

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// A frame of LZ4 is a header, blocks behind their sizes, and a size of 0. The
// library decodes the blocks; its reader of frames refuses the checksums of blocks
// that other writers add. Checksums are not compared.
const (
	lz4Magic = 0x184d2204

	lz4Checksums   = 1 << 4 // of blocks
	lz4ContentSize = 1 << 3
	lz4Dictionary  = 1

	lz4Plain  = 1 << 31 // in the size of a block: it is not compressed
	lz4Window = 64 << 10
)

var errLZ4 = errors.New("damaged LZ4 frame")

// unlz4 returns the size bytes that a frame holds. Memory grows with the blocks.
func unlz4(data []byte, size int64) ([]byte, error) {
	flags, maxBlock, data, err := lz4Header(data)
	if err != nil {
		return nil, err
	}
	var out []byte
	for {
		if len(data) < 4 {
			return nil, errLZ4
		}
		n := binary.LittleEndian.Uint32(data)
		data = data[4:]
		if n == 0 {
			break
		}
		length := int(n &^ lz4Plain)
		if length > len(data) || length > maxBlock {
			return nil, errLZ4
		}
		if out, err = lz4Block(out, data[:length], n&lz4Plain != 0, min(int64(maxBlock), size-int64(len(out)))); err != nil {
			return nil, err
		}
		if data = data[length:]; flags&lz4Checksums != 0 {
			if len(data) < 4 {
				return nil, errLZ4
			}
			data = data[4:]
		}
	}
	if int64(len(out)) != size {
		return nil, errBufferSize
	}
	return out, nil
}

// lz4Header reads the header of a frame and returns what follows it.
func lz4Header(data []byte) (flags byte, maxBlock int, rest []byte, err error) {
	const shortest = 7
	if len(data) < shortest || binary.LittleEndian.Uint32(data) != lz4Magic {
		return 0, 0, nil, errLZ4
	}
	flags = data[4]
	size := shortest
	if flags&lz4ContentSize != 0 {
		size += 8
	}
	block := int(data[5] >> 4 & 7)
	if flags>>6 != 1 || flags&lz4Dictionary != 0 || block < 4 || size > len(data) {
		return 0, 0, nil, errLZ4
	}
	return flags, 1 << (8 + 2*block), data[size:], nil // 64 kB to 4 MB
}

// lz4Block appends a block of at most room bytes, which may refer to what precedes
// it.
func lz4Block(out, block []byte, plain bool, room int64) ([]byte, error) {
	const longestRatio = 255
	if plain {
		if int64(len(block)) > room {
			return nil, errBufferSize
		}
		return append(out, block...), nil
	}
	room = max(0, min(room, int64(len(block))*longestRatio))
	out = slices.Grow(out, int(room))
	before := out[max(0, len(out)-lz4Window):]
	n, err := lz4.UncompressBlockWithDict(block, out[len(out):len(out)+int(room)], before)
	if err != nil || n < 0 || int64(n) > room {
		return nil, errLZ4
	}
	return out[:len(out)+n], nil
}
