package kineto

import "github.com/optrace/optrace/op"

// collective holds the arguments of a collective operation.
type collective struct {
	op.Collective
	dtype op.DType
}

// collectives holds the collectives of a trace, numbered from 1.
type collectives struct {
	texts symbols
	rows  rows[collectiveRow]
}

// collectiveRow is a collective, its texts by their numbers.
type collectiveRow struct {
	numbers            [collectiveNumbers]int64
	name, group, dtype uint32
	known              uint8 // a bit for each of numbers
}

// collectiveNumbers is how many numbers a collective has.
const collectiveNumbers = 5

func (c *collective) numbers() [collectiveNumbers]*op.Int {
	return [...]*op.Int{&c.GroupSize, &c.Sequence, &c.PeerRank, &c.InElements, &c.OutElements}
}

// add keeps c and returns its number, 0 for none.
func (t *collectives) add(c *collective) uint32 {
	if c.Name == "" {
		return 0
	}
	row := t.rows.add()
	row.name, row.group, row.dtype = t.texts.add([]byte(c.Name)), t.texts.add([]byte(c.Group)), t.texts.add([]byte(c.dtype))
	for i, n := range c.numbers() {
		row.numbers[i] = n.V
		if n.Known {
			row.known |= 1 << i
		}
	}
	return uint32(t.rows.n)
}

// get sets c to the collective of a number.
func (t *collectives) get(number uint32, c *collective) {
	row := t.rows.at(int32(number - 1))
	*c = collective{dtype: op.DType(t.texts.text(row.dtype))}
	c.Name, c.Group = t.texts.text(row.name), t.texts.text(row.group)
	for i, n := range c.numbers() {
		if row.known&(1<<i) != 0 {
			*n = op.Known(row.numbers[i])
		}
	}
}
