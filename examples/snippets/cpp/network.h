// A small network to trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using Shape = std::vector<int64_t>;
using Values = std::vector<float>;

// Operation is what is known of an operation when it has ended.
struct Operation {
  std::string name, path;
  std::vector<Shape> inputs;
  Shape output;
};

inline Values matmul(const Values& a, const Values& b, int64_t rows, int64_t inner, int64_t columns) {
  Values out(rows * columns);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < inner; k++)
      for (int64_t j = 0; j < columns; j++) out[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return out;
}

// predict runs the network. trace(operation, work) runs work as an operation.
template <typename Trace>
float predict(Trace trace) {
  Values x(64 * 784, 0.5f), w(784 * 256, 0.25f), h;
  float sum = 0;
  trace(Operation{"matmul", "dense", {{64, 784}, {784, 256}}, {64, 256}}, [&] { h = matmul(x, w, 64, 784, 256); });
  trace(Operation{"relu", "dense", {{64, 256}}, {64, 256}}, [&] {
    for (float& v : h) v = std::max(v, 0.0f);
  });
  trace(Operation{"sum", "loss", {{64, 256}}, {}}, [&] { sum = std::accumulate(h.begin(), h.end(), 0.0f); });
  return sum;
}
