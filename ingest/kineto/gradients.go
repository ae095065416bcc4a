package kineto

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

func (t *tables) forwards() []int32 {
	var list []int32
	for i := range int32(t.gradients.n) {
		if t.gradients.at(i).forward == 0 {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int32) int {
		a, b := t.gradients.at(i), t.gradients.at(j)
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(t.hostOps.at(a.op).start, t.hostOps.at(b.op).start),
			cmp.Compare(i, j))
	})
	return list
}

const maxForwards = 64

// forwardOf returns the forward operator of a backward operator, -1 if ambiguous. An operator without a gradient shares
// the number of the next operator with one. Of several operators with the number, the last one with the backward
// operator's name matches:
//
//	forward   aten::linear 4 > aten::t 4   aten::addmm 5   aten::relu 6
//	backward  TBackward0 4                 AddmmBackward0 5
//
// Autograd's thread numbers differ from the thread ids of events. Matches on two threads are ambiguous.
func (m *entryMaker) forwardOf(g *gradient) int32 {
	o := m.hostOps.at(g.op)
	name := m.plainOf(o.name).backward
	if name == "" {
		return -1
	}
	i := sort.Search(len(m.byNumber), func(i int) bool {
		f := m.gradients.at(m.byNumber[i])
		return f.number > g.number || f.number == g.number && m.hostOps.at(f.op).start >= o.start
	})
	found := int32(-1)
	for n := 0; n < maxForwards && i > 0; n++ {
		i--
		f := m.gradients.at(m.byNumber[i])
		if f.number != g.number {
			break
		}
		forward := m.hostOps.at(f.op)
		switch {
		case m.processOf(forward.thread) != m.processOf(o.thread), m.plainOf(forward.name).own != name:
		case found < 0:
			found = f.op
		case forward.thread != m.hostOps.at(found).thread:
			return -1
		}
	}
	return found
}

// plainNames are the plain name of an operator and the plain name of the operator whose gradient it computes: "addmm"
// for "autograd::engine::evaluate_function: AddmmBackward0", "" for a forward operator.
type plainNames struct {
	own, backward string
	known         bool
}

func (m *entryMaker) plainOf(symbol uint32) *plainNames {
	if m.plain == nil {
		m.plain = make([]plainNames, len(m.symbols.Texts())+1)
	}
	p := &m.plain[symbol]
	if !p.known {
		name := m.symbols.Text(symbol)
		p.known, p.own = true, plainName(name)
		class := strings.TrimRight(name[strings.LastIndexByte(name, ' ')+1:], "0123456789")
		if class, ok := strings.CutSuffix(class, "Backward"); ok {
			p.backward = plainName(class)
		}
	}
	return p
}

// plainName returns a name without namespaces, in lower case, letters and digits only: the gradient class of
// max_pool2d_with_indices is MaxPool2DWithIndices.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name[strings.LastIndexByte(name, ':')+1:])
}
