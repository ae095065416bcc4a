package lexer

// Mark is a place in the text for Rewind.
type Mark struct {
	pos, depth int
	top        frame
}

// Mark returns the current place.
func (l *Lexer) Mark() Mark {
	m := Mark{pos: l.pos, depth: len(l.stack)}
	if m.depth > 0 {
		m.top = l.stack[m.depth-1]
	}
	return m
}

// Rewind returns to m without an error. Meanwhile l must not have left the value around m and entered another.
func (l *Lexer) Rewind(m Mark) {
	l.pos = m.pos
	l.err = nil
	l.errPos = 0
	l.stack = l.stack[:m.depth]
	if m.depth > 0 {
		l.stack[m.depth-1] = m.top
	}
}

// Pos returns the offset of the unread text.
func (l *Lexer) Pos() int { return l.pos }

// Advance skips the next n bytes, known to be a value.
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

// OneLine makes a newline an error or white space. In JSON Lines, a truncated text then does not swallow the next one.
func (l *Lexer) OneLine(on bool) { l.oneLine = on }

// Replace continues l in buf: the text without its first dropped bytes and with more behind it.
func (l *Lexer) Replace(buf []byte, dropped int) {
	l.buf = buf
	l.pos -= dropped
}

// AtEnd reports whether the whole text has been read.
func (l *Lexer) AtEnd() bool { return l.pos >= len(l.buf) }

// Depth returns the number of open objects and arrays.
func (l *Lexer) Depth() int { return len(l.stack) }

// InObject reports whether the innermost one is an object.
func (l *Lexer) InObject() bool {
	return len(l.stack) > 0 && l.stack[len(l.stack)-1].closing == '}'
}
