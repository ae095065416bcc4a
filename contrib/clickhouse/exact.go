package clickhouse

import "math/big"

// Sums are exact up to 192 bits, with arithmetic of all versions: numbers are split into parts of 32 bits,
// and each part is summed up in 64 bits.

// maxCount limits the rows of a sum, so that a sum of 32-bit parts fits 64 bits.
const maxCount = 1 << 32

// limb is 32 bits of a non-negative number, as an expression of type UInt64.
type limb struct {
	expr  string
	shift uint
}

func limbsOf(expr string) []limb {
	return []limb{
		{"toUInt64(bitAnd(" + expr + ", 4294967295))", 0},
		{"toUInt64(bitShiftRight(" + expr + ", 32))", 32},
	}
}

// term is a sum of type UInt64 to shift left.
type term struct {
	expr  string
	shift uint
}

// sumOf returns the terms of a sum over the rows with cond; "" is all rows.
func sumOf(limbs []limb, cond string) []term {
	var terms []term
	for _, l := range limbs {
		terms = append(terms, term{sumIf(l.expr, cond), l.shift})
	}
	return terms
}

// sumOfProducts returns the terms of the sum of a * b.
func sumOfProducts(a, b []limb, cond string) []term {
	var terms []term
	for _, x := range a {
		for _, y := range b {
			product := "(" + x.expr + " * " + y.expr + ")"
			terms = append(terms,
				term{sumIf("bitAnd("+product+", 4294967295)", cond), x.shift + y.shift},
				term{sumIf("bitShiftRight("+product+", 32)", cond), x.shift + y.shift + 32})
		}
	}
	return terms
}

func sumIf(expr, cond string) string {
	if cond == "" {
		return "sum(" + expr + ")"
	}
	return "sumIf(" + expr + ", " + cond + ")"
}

// total adds up the shifted values.
func total(terms []term, values []uint64) *big.Int {
	sum, part := new(big.Int), new(big.Int)
	for i, t := range terms {
		sum.Add(sum, part.Lsh(part.SetUint64(values[i]), t.shift))
	}
	return sum
}
