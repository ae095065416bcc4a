package traceevent

import (
	"github.com/optrace/optrace/ingest/internal/jsonstream"
	"github.com/optrace/optrace/internal/jsontext"
)

// straight reads the event at the start of b in one pass and returns the length of its
// text. It returns -1 where the event does not end in b, is not valid, or is written in
// an unusual way, such as with escapes in its name: decode reads those. The events that
// both read are the same.
func (d *decoder) straight(b []byte) (size int) {
	if !jsontext.Has(b, 0, "{") {
		return -1
	}
	d.event = Event{}
	i := jsontext.Space(b, 1)
	for more := true; more; {
		i = d.straightMember(b, i)
		i, more = jsontext.Next(b, i, '}')
	}
	if i > jsonstream.MaxElement {
		return -1
	}
	return i
}

// straightMember reads a member of an event and returns the index behind it, or -1.
func (d *decoder) straightMember(b []byte, i int) int {
	e := &d.event
	key, i := jsontext.Member(b, i)
	switch string(key) {
	case "ph":
		if !jsontext.Has(b, i, `"`) || i+2 >= len(b) || b[i+1] <= ' ' || b[i+1] == '\\' || b[i+1] == '"' || b[i+2] != '"' {
			return -1
		}
		e.Phase = b[i+1]
		return i + 3
	case "cat":
		e.Category, i = jsontext.Quoted(b, i)
	case "name":
		e.Name, i = jsontext.Quoted(b, i)
	case "pid":
		e.PID, i = straightID(b, i)
	case "tid":
		e.TID, i = straightID(b, i)
	case "ts":
		e.Start.V, i = jsontext.Micros(b, i)
		e.Start.Known = true
	case "dur":
		e.Duration.V, i = jsontext.Micros(b, i)
		e.Duration.Known = true
	case "args":
		return d.straightArgs(b, i)
	default:
		return jsontext.Value(b, i)
	}
	return i
}

// straightID reads the id of a process or thread.
func straightID(b []byte, i int) (text []byte, end int) {
	end = jsontext.Value(b, i)
	if end < 0 {
		return nil, -1
	}
	return b[i:end], end
}

// straightArgs reads the arguments of an event.
func (d *decoder) straightArgs(b []byte, i int) int {
	if !jsontext.Has(b, i, "{") {
		return -1
	}
	e := &d.event
	end := -1
	if d.readArgs != nil {
		end = d.readArgs(e, b, i)
	}
	e.ArgsRead = end >= 0
	if end < 0 {
		end = jsontext.Value(b, i)
	}
	if end >= 0 {
		e.Args = b[i:end]
	}
	return end
}
