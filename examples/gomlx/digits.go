package main

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// An image is side pixels wide and high and shows one of the digits.
const (
	side    = 10
	classes = 10
)

// glyphs are the digits, of glyphHeight rows of glyphWidth pixels each.
var glyphs = [classes]string{
	" ### " + "#   #" + "#   #" + "#   #" + "#   #" + "#   #" + " ### ",
	"  #  " + " ##  " + "  #  " + "  #  " + "  #  " + "  #  " + " ### ",
	" ### " + "#   #" + "    #" + "   # " + "  #  " + " #   " + "#####",
	" ### " + "#   #" + "    #" + "  ## " + "    #" + "#   #" + " ### ",
	"   # " + "  ## " + " # # " + "#  # " + "#####" + "   # " + "   # ",
	"#####" + "#    " + "#### " + "    #" + "    #" + "#   #" + " ### ",
	" ### " + "#    " + "#    " + "#### " + "#   #" + "#   #" + " ### ",
	"#####" + "    #" + "   # " + "   # " + "  #  " + "  #  " + "  #  ",
	" ### " + "#   #" + "#   #" + " ### " + "#   #" + "#   #" + " ### ",
	" ### " + "#   #" + "#   #" + " ####" + "    #" + "    #" + " ### ",
}

const (
	glyphWidth  = 5
	glyphHeight = 7
)

// digits draws images: a digit somewhere in the image, of some brightness, under noise.
type digits struct{ rng *rand.Rand }

// newDigits returns digits that are the same for the same seed.
func newDigits(seed uint64) *digits { return &digits{rand.New(rand.NewPCG(seed, 0))} }

// batch draws n images, [n, side, side, 1], and the digit on each, [n, 1].
func (d *digits) batch(n int) (images, labels *tensors.Tensor) {
	pixels, digit := make([]float32, n*side*side), make([]int32, n)
	for i := range n {
		digit[i] = d.rng.Int32N(classes)
		d.draw(pixels[i*side*side:][:side*side], glyphs[digit[i]])
	}
	return tensors.FromFlatDataAndDimensions(pixels, n, side, side, 1), tensors.FromFlatDataAndDimensions(digit, n, 1)
}

// draw draws one image.
func (d *digits) draw(image []float32, glyph string) {
	const noise = 0.2
	for i := range image {
		image[i] = float32(noise * d.rng.NormFloat64())
	}
	const border = 1 // how near the digit may come
	left := border + d.rng.IntN(side-glyphWidth-2*border+1)
	top := border + d.rng.IntN(side-glyphHeight-2*border+1)
	brightness := float32(0.7 + 0.6*d.rng.Float64())
	for i, c := range glyph {
		if c == '#' {
			image[(top+i/glyphWidth)*side+left+i%glyphWidth] += brightness
		}
	}
}
