// Package jsonstream walks JSON documents that are too large to be held in
// memory, such as one object with an array of millions of events. The outer
// structure is entered step by step, as with [lexer.Lexer]; the elements
// that are worth a look come as text, to be given to a Lexer.
//
//	r := jsonstream.NewReader(src, name)
//	for r.Object(); r.More(); {
//		switch string(r.Key()) {
//		case "traceEvents":
//			for event, err := range r.Elements() {
//				…
//			}
//		default:
//			r.Skip()
//		}
//	}
//	return r.Err()
//
// Elements are delimited by their brackets and strings alone; whether they
// follow the grammar is for the Lexer to say. So an element that does not costs
// nothing but itself. Memory is bounded by the largest element that is taken
// as text, which is limited, and nesting costs memory only as far as the
// caller enters it.
package jsonstream
