package optrace

import "fmt"

// errorText returns the text of err. That of an error that panics when it is asked,
// such as a nil pointer of some type, says so: the operation is worth more than
// the text.
func errorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%T panicked in Error: %v", err, r)
		}
	}()
	return err.Error()
}
