package main

// matmulPTX is a batched matrix product: c[z] = a[z]·b for matrices of n×n float32, with one thread per result. Its
// arguments are a, b, c and n.
const matmulPTX = `.version 6.0
.target sm_50
.address_size 64

.visible .entry matmul(
	.param .u64 matmul_a,
	.param .u64 matmul_b,
	.param .u64 matmul_c,
	.param .u32 matmul_n
)
{
	.reg .pred %outside, %below, %more;
	.reg .b32 %n, %row, %column, %block, %size, %thread, %left;
	.reg .f32 %sum, %x, %y;
	.reg .b64 %a, %b, %c, %offset, %stride;

	ld.param.u64 %a, [matmul_a];
	ld.param.u64 %b, [matmul_b];
	ld.param.u64 %c, [matmul_c];
	ld.param.u32 %n, [matmul_n];
	cvta.to.global.u64 %a, %a;
	cvta.to.global.u64 %b, %b;
	cvta.to.global.u64 %c, %c;

	mov.u32 %block, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %thread, %tid.x;
	mad.lo.u32 %column, %block, %size, %thread;
	mov.u32 %block, %ctaid.y;
	mov.u32 %size, %ntid.y;
	mov.u32 %thread, %tid.y;
	mad.lo.u32 %row, %block, %size, %thread;
	setp.ge.u32 %outside, %column, %n;
	setp.ge.u32 %below, %row, %n;
	or.pred %outside, %outside, %below;
	@%outside bra DONE;

	// a and c: to the row of the matrix of this batch element; b and c: to the column.
	mov.u32 %block, %ctaid.z;
	mad.lo.u32 %row, %block, %n, %row;
	mul.wide.u32 %offset, %row, %n;
	shl.b64 %offset, %offset, 2;
	add.u64 %a, %a, %offset;
	add.u64 %c, %c, %offset;
	mul.wide.u32 %offset, %column, 4;
	add.u64 %b, %b, %offset;
	add.u64 %c, %c, %offset;
	mul.wide.u32 %stride, %n, 4;

	mov.f32 %sum, 0f00000000;
	mov.u32 %left, %n;
NEXT:
	ld.global.f32 %x, [%a];
	ld.global.f32 %y, [%b];
	fma.rn.f32 %sum, %x, %y, %sum;
	add.u64 %a, %a, 4;
	add.u64 %b, %b, %stride;
	sub.u32 %left, %left, 1;
	setp.ne.u32 %more, %left, 0;
	@%more bra NEXT;

	st.global.f32 [%c], %sum;
DONE:
	ret;
}
`

// blockSide is the number of a block's threads in each of two dimensions.
const blockSide = 16
