#include "systole/graph/initializers/matrices.h"

#include <cmath>
#include <vector>

#include "systole/graph/api/py_func.h"

namespace systole::rules {
namespace {

// The Q of a QR decomposition of `a` [rows, columns], rows >= columns, row-major, with the signs
// that make R's diagonal positive: modified Gram-Schmidt in f64, twice for orthogonality.
void orthonormalize(std::vector<double>& a, int64_t rows, int64_t columns) {
  const auto at = [&](int64_t r, int64_t c) -> double& { return a[r * columns + c]; };
  for (int64_t c = 0; c < columns; ++c) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < c; ++k) {
        double dot = 0;
        for (int64_t r = 0; r < rows; ++r) dot += at(r, k) * at(r, c);
        for (int64_t r = 0; r < rows; ++r) at(r, c) -= dot * at(r, k);
      }
    }
    double norm = 0;
    for (int64_t r = 0; r < rows; ++r) norm += at(r, c) * at(r, c);
    norm = std::sqrt(norm);
    for (int64_t r = 0; r < rows; ++r) at(r, c) /= norm;
  }
}

// values: f32 [rows, columns] of normal numbers. Returns an orthonormal matrix of that shape.
Tensor orthonormal(const Tensor& values, double gain) {
  const int64_t rows = values.dim(0);
  const int64_t columns = values.dim(1);
  const bool tall = rows >= columns;
  const std::span<const float> in = values.data<float>();
  std::vector<double> a(in.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      a[tall ? r * columns + c : c * rows + r] = in[r * columns + c];
    }
  }
  orthonormalize(a, tall ? rows : columns, tall ? columns : rows);
  Tensor result(TensorType{DType::f32, {rows, columns}});
  const std::span<float> out = result.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[r * columns + c] = static_cast<float>(gain * a[tall ? r * columns + c : c * rows + r]);
    }
  }
  return result;
}

}  // namespace

Output identity_values(const InitializerCall& call) {
  const Shape& shape = call.shape;
  if (shape.rank() != 2) {
    throw invalid_argument("Identity matrix initializer can only be used for 2D matrices, got {}",
                           shape.to_string());
  }
  const Output diagonal = equal(expand_dims(range(shape[0]), 1), range(shape[1]));
  return cast(cast(diagonal, DType::f32) * call.arguments.number("gain"), call.dtype);
}

Output orthogonal_values(const InitializerCall& call) {
  const Shape& shape = call.shape;
  if (shape.rank() < 2) {
    throw invalid_argument("The tensor to initialize must be at least two-dimensional, got {}",
                           shape.to_string());
  }
  const int64_t columns = shape[shape.rank() - 1];
  const int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
  const Output normal = random_normal({rows, columns}, {.seed = call.seed});
  const double gain = call.arguments.number("gain");
  const Output matrix =
      py_func([gain](std::span<const Tensor> inputs) { return orthonormal(inputs[0], gain); },
              {normal}, TensorType{DType::f32, {rows, columns}});
  return cast(reshape(matrix, shape), call.dtype);
}

}  // namespace systole::rules
