// Package jsonstream walks JSON documents too large for memory, such as one object with an array of millions of events. The
// caller enters the outer structure step by step, as with [lexer.Lexer], and gets the elements as text for a Lexer.
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
// Brackets and strings alone delimit elements; the Lexer checks their grammar. A bad element costs only itself. The largest
// element taken as text bounds the memory, and nesting costs memory only where the caller enters it.
package jsonstream
