package main

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Images have the size of handwritten digits.
const (
	pixels  = 28 * 28
	classes = 10
)

// dataset draws images: a faint pattern for each class under noise. Every run draws the same images.
type dataset struct {
	rng      *rand.Rand
	patterns [classes][pixels]float64
}

func newDataset() *dataset {
	const seed = 2
	const contrast = 0.15
	d := &dataset{rng: rand.New(rand.NewPCG(seed, 0))}
	for class := range d.patterns {
		for i := range d.patterns[class] {
			d.patterns[class][i] = contrast * d.rng.NormFloat64()
		}
	}
	return d
}

type batch struct {
	images *mat.Dense
	labels []int
}

// Batch draws n images.
func (d *dataset) Batch(n int) batch {
	b := batch{images: mat.NewDense(n, pixels, nil), labels: make([]int, n)}
	for i := range n {
		b.labels[i] = d.rng.IntN(classes)
		row := b.images.RawRowView(i)
		for j, v := range d.patterns[b.labels[i]] {
			row[j] = v + d.rng.NormFloat64()
		}
	}
	return b
}

// part returns the i-th of n parts of the batch, without copying.
func (b batch) part(i, n int) batch {
	from := i * len(b.labels) / n
	to := (i + 1) * len(b.labels) / n
	return batch{images: b.images.Slice(from, to, 0, pixels).(*mat.Dense), labels: b.labels[from:to]}
}
