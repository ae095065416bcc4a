// Package heap is a generic binary heap. Unlike container/heap it needs no interface calls, and it supports
// keeping the first n of many values.
package heap

// Heap keeps its largest item by Less on top.
type Heap[T any] struct {
	Items []T
	Less  func(a, b T) bool
}

// Top returns the largest item. The heap must not be empty.
func (h *Heap[T]) Top() T { return h.Items[0] }

// Push adds v.
func (h *Heap[T]) Push(v T) {
	h.Items = append(h.Items, v)
	i := len(h.Items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.Less(h.Items[parent], h.Items[i]) {
			return
		}
		h.swap(parent, i)
		i = parent
	}
}

// Pop removes and returns the largest item. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	top := h.Items[0]
	last := h.Items[len(h.Items)-1]
	h.Items = h.Items[:len(h.Items)-1]
	if len(h.Items) > 0 {
		h.ReplaceTop(last)
	}
	return top
}

// ReplaceTop replaces the largest item by v.
func (h *Heap[T]) ReplaceTop(v T) {
	i := 0
	h.Items[0] = v
	for {
		largest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.Items); child++ {
			if h.Less(h.Items[largest], h.Items[child]) {
				largest = child
			}
		}
		if largest == i {
			return
		}
		h.swap(i, largest)
		i = largest
	}
}

func (h *Heap[T]) swap(i, j int) { h.Items[i], h.Items[j] = h.Items[j], h.Items[i] }
