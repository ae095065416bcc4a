package analyze

// heap keeps its largest item, as less orders them, on top.
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (h *heap[T]) top() T { return h.items[0] }

func (h *heap[T]) push(v T) {
	h.items = append(h.items, v)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[parent], h.items[i]) {
			return
		}
		h.items[parent], h.items[i] = h.items[i], h.items[parent]
		i = parent
	}
}

// replaceTop puts v in the place of the largest item.
func (h *heap[T]) replaceTop(v T) {
	h.items[0] = v
	i := 0
	for {
		largest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.less(h.items[largest], h.items[child]) {
				largest = child
			}
		}
		if largest == i {
			return
		}
		h.items[i], h.items[largest] = h.items[largest], h.items[i]
		i = largest
	}
}
