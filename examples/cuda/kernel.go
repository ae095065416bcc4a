package main

import _ "embed" // the kernel

// matmulPTX is a batched matrix product: c[z] = a[z]·b for matrices of n×n float32, with one thread per result. Its
// arguments are a, b, c and n.
//
//go:embed matmul.ptx
var matmulPTX string

const blockSide = 16 // the number of a block's threads in each of two dimensions
