package kineto

// threads numbers the threads of the trace.
type threads struct {
	index map[threadKey]uint32
	keys  []threadKey // of each thread
	// recent is a direct-mapped cache in front of the index: numbers of threads, plus 1.
	recent [64]uint32
}

// threadBytes is the memory of a thread: its key in the list, and in the index with
// that one's slack.
const threadBytes = 48

func (t *threads) heldBytes() int64 { return int64(len(t.keys)) * threadBytes }

// threadKey is the process and thread id of an event, as numbers of symbols.
type threadKey struct{ process, thread uint32 }

// addThread returns the number of the thread with the ids of an event.
func (t *tables) addThread(pid, tid []byte) uint32 {
	return t.threads.add(threadKey{t.symbols.Add(pid), t.symbols.Add(tid)})
}

func (t *threads) add(key threadKey) uint32 {
	slot := &t.recent[(key.process*7+key.thread)%uint32(len(t.recent))]
	if n := *slot; n != 0 && t.keys[n-1] == key {
		return n - 1
	}
	n, ok := t.index[key]
	if !ok {
		if t.index == nil {
			t.index = make(map[threadKey]uint32)
		}
		n = uint32(len(t.keys))
		t.index[key] = n
		t.keys = append(t.keys, key)
	}
	*slot = n + 1
	return n
}

// process returns the process of a thread, a number of symbols.
func (t *threads) process(thread uint32) uint32 { return t.keys[thread].process }
