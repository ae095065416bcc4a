package perfetto

import "strconv"

// track is a track with its open slices.
type track struct {
	uuid, parent uint64
	hasParent    bool
	process      string // the name of its process for events; "" where it is not known itself
	open         []beginning
}

// trackBytes is the memory of a track beside its beginnings.
const trackBytes = 160

// beginning is the beginning of a slice.
type beginning struct {
	name, category string
	args           []byte // members of a JSON object
	start          int64
	// problem is set if the slice cannot be read. Its end belongs to no other slice.
	problem bool
}

// beginningBytes is the memory of a beginning without its texts, which may be shared.
const beginningBytes = 96

// bytes returns the memory of the beginning.
func (b *beginning) bytes() int64 { return beginningBytes + int64(len(b.args)) }

// trackKey identifies a track. Events without a track have one per sequence.
type trackKey struct {
	uuid, sequence uint64
	isImplicit     bool
}

type tracks map[trackKey]*track

// of returns a track and whether it is new.
func (t tracks) of(key trackKey) (tr *track, isNew bool) {
	tr, ok := t[key]
	if !ok {
		tr = &track{uuid: key.uuid}
		if key.isImplicit {
			tr.process = "sequence " + strconv.FormatUint(key.sequence, 10)
		}
		t[key] = tr
	}
	return tr, !ok
}

// describe takes a descriptor and reports whether its track is new.
func (t tracks) describe(b []byte, bad *bool) (isNew bool) {
	var key trackKey
	var parent uint64
	var process string
	hasParent := false
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case trackUUID:
			key.uuid = f.n
		case trackParentUUID:
			parent = f.n
			hasParent = true
		case trackProcess, trackThread:
			d := fieldsOf(f.data, bad)
			for d.next() {
				if d.Field == descriptorPID {
					process = "process " + strconv.FormatInt(int64(int32(d.n)), 10)
				}
			}
		}
	}
	if *bad {
		return false
	}
	tr, isNew := t.of(key)
	if hasParent {
		tr.parent = parent
		tr.hasParent = true
	}
	if process != "" {
		tr.process = process
	}
	return isNew
}

// processOf returns the name of a track's process.
func (t tracks) processOf(tr *track) string {
	for range maxParents {
		if tr.process != "" || !tr.hasParent {
			break
		}
		above := t[trackKey{uuid: tr.parent}]
		if above == nil {
			break
		}
		tr = above
	}
	if tr.process != "" {
		return tr.process
	}
	return "track " + strconv.FormatUint(tr.uuid, 10)
}
