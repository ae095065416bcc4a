package kineto

import "github.com/optrace/optrace/internal/symbols"

// threads numbers the threads of the trace.
type threads struct {
	symbols.Table[threadKey]
}

// threadKey is the process and thread id of an event, as numbers of symbols.
type threadKey struct{ process, thread uint32 }

// addThread returns the number of the thread with the ids of an event.
func (t *tables) addThread(pid, tid []byte) uint32 {
	return uint32(t.threads.ID(threadKey{t.symbols.Add(pid), t.symbols.Add(tid)}))
}

// process returns the process of a thread, a number of symbols.
func (t *threads) process(thread uint32) uint32 { return t.Values[thread].process }
