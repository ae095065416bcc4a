//! A small network to trace.

/// What is known of an operation when it has ended.
pub struct Operation {
    pub name: &'static str,
    pub path: &'static str,
    pub inputs: &'static [&'static [i64]],
    pub output: &'static [i64],
}

const MATMUL: Operation = Operation { name: "matmul", path: "dense", inputs: &[&[64, 784], &[784, 256]], output: &[64, 256] };
const RELU: Operation = Operation { name: "relu", path: "dense", inputs: &[&[64, 256]], output: &[64, 256] };
const SUM: Operation = Operation { name: "sum", path: "loss", inputs: &[&[64, 256]], output: &[] };

fn matmul(a: &[f32], b: &[f32], rows: usize, inner: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    for i in 0..rows {
        for k in 0..inner {
            for j in 0..columns {
                out[i * columns + j] += a[i * inner + k] * b[k * columns + j];
            }
        }
    }
    out
}

/// Runs the network. trace(operation, work) runs work as an operation.
pub fn predict(mut trace: impl FnMut(&Operation, &mut dyn FnMut())) -> f32 {
    let (x, w) = (vec![0.5; 64 * 784], vec![0.25; 784 * 256]);
    let (mut h, mut sum) = (Vec::new(), 0.0);
    trace(&MATMUL, &mut || h = matmul(&x, &w, 64, 784, 256));
    trace(&RELU, &mut || h.iter_mut().for_each(|v| *v = v.max(0.0)));
    trace(&SUM, &mut || sum = h.iter().sum());
    sum
}
