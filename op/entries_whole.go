package op

// Omit lets r leave fields out of the entries, as [Mapping.Without] says. It is called
// before anything is read.
func (r *Reader) Omit(fields Fields) {
	r.dec.omitted, r.operation.Whole = fields, nil
	if fields != 0 {
		r.operation.Whole = wholeReader{r}
	}
}

// wholeReader reads the last entry of a Reader once more.
type wholeReader struct{ *Reader }

// ReadWhole implements [WholeReader].
func (r wholeReader) ReadWhole() *Entry {
	d := &r.dec
	omitted, host := d.omitted, d.entry.Host
	d.omitted = 0
	if d.canonicalRecord(r.line) == 0 {
		// The line has been read before: it is an entry.
		_, _, _ = d.decodeRecord(r.line)
	}
	d.omitted, d.entry.Host = omitted, host
	return &d.entry
}

// omitsIDs reports whether the ids of an entry are to be left out.
func (d *decoder) omitsIDs() bool { return d.omitted.Has(FieldIDs) && d.omitted.Has(FieldParent) }

// omits reports whether the member of an entry is to be left out. Others cost less to
// read than to pass over.
func (d *decoder) omits(name []byte) bool {
	switch string(name) {
	case "trace_id", "span_id", "parent_span_id":
		return d.omitsIDs()
	case "root_span_id":
		return d.omitted.Has(FieldRoot)
	case "path":
		return d.omitted.Has(FieldPath)
	}
	return false
}
