package clickhouse

import "math/big"

// Sums are exact, of up to 192 bits, by arithmetic that every version has: numbers
// are cut into parts of 32 bits, and a sum of 64 bits is made for each of them.

// maxCount bounds the rows of a sum: the sum of so many parts fits 64 bits.
const maxCount = 1 << 32

// limb is 32 bits of a number that is not negative: an expression of type UInt64.
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

// term is an aggregate of type UInt64, to be shifted.
type term struct {
	expr  string
	shift uint
}

// sumOf returns the terms of the sum of limbs over the rows at which cond holds, "" for all.
func sumOf(limbs []limb, cond string) []term {
	var terms []term
	for _, l := range limbs {
		terms = append(terms, term{sumIf(l.expr, cond), l.shift})
	}
	return terms
}

// sumOfProducts returns the terms of the sum of the products of two numbers.
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

// total returns the sum that the values of terms make.
func total(terms []term, values []uint64) *big.Int {
	sum, part := new(big.Int), new(big.Int)
	for i, t := range terms {
		sum.Add(sum, part.Lsh(part.SetUint64(values[i]), t.shift))
	}
	return sum
}
