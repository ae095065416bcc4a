package arrow

import "github.com/optrace/optrace/op"

// textBytes returns how many bytes the texts of e have.
func textBytes(e *op.Entry) int {
	n := len(e.Operation) + len(e.DeviceID) + len(e.Service) + len(e.Scope) + len(e.Path) + len(e.DType) + len(e.Root) + len(e.Error)
	if c := e.Collective; c != nil {
		n += len(c.Name) + len(c.Group)
	}
	for _, t := range e.InputDTypes {
		n += len(t)
	}
	for i := range e.Attrs {
		n += len(e.Attrs[i].Key) + len(e.Attrs[i].Value)
	}
	return n
}
