package lexer

// Mark is a place in the text that a lexer can come back to.
type Mark struct {
	pos, depth int
	top        frame
}

// Mark returns the place where l stands.
func (l *Lexer) Mark() Mark {
	m := Mark{pos: l.pos, depth: len(l.stack)}
	if m.depth > 0 {
		m.top = l.stack[m.depth-1]
	}
	return m
}

// Rewind makes l stand at m again, without an error. In between it may have left the object or array that it stood in, but
// not entered another one after that.
func (l *Lexer) Rewind(m Mark) {
	l.pos = m.pos
	l.err = nil
	l.errPos = 0
	l.stack = l.stack[:m.depth]
	if m.depth > 0 {
		l.stack[m.depth-1] = m.top
	}
}

// Pos returns how far l has read.
func (l *Lexer) Pos() int { return l.pos }

// Advance passes over the next n bytes, which the caller knows to be a value.
func (l *Lexer) Advance(n int) { l.pos += n }

// Pos returns the mark's offset in the text.
func (m Mark) Pos() int { return m.pos }

// Shift returns the mark for a text without its first n bytes.
func (m Mark) Shift(n int) Mark {
	m.pos -= n
	return m
}

// At returns the mark for the first element, at another offset.
func (m Mark) At(pos int) Mark {
	m.pos = pos
	m.top.first = true
	return m
}

// OneLine sets whether a newline is an error: in JSON Lines a text that is cut off then does not swallow the next one.
func (l *Lexer) OneLine(on bool) { l.oneLine = on }

// Replace makes l go on in buf, the text without its first dropped bytes and with more behind it.
func (l *Lexer) Replace(buf []byte, dropped int) {
	l.buf = buf
	l.pos -= dropped
}

// AtEnd reports whether all of the text has been read.
func (l *Lexer) AtEnd() bool { return l.pos >= len(l.buf) }

// Depth returns how many objects and arrays l is in.
func (l *Lexer) Depth() int { return len(l.stack) }

// InObject reports whether the innermost of them is an object.
func (l *Lexer) InObject() bool {
	return len(l.stack) > 0 && l.stack[len(l.stack)-1].closing == '}'
}
