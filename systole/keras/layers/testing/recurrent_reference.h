// Recurrent layers in plain f64 loops, for tests: independent of the layers themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/random.h"
#include "systole/base/tensor.h"

namespace systole::keras::layers::testing {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;  // [rows][columns]
using Cube = std::vector<Matrix>;    // [batch][time][units]

inline Vector numbers(const Tensor& t) {
  const std::span<const float> data = t.data<float>();
  return {data.begin(), data.end()};
}

inline Cube cube(const Tensor& t) {
  const Vector flat = numbers(t);
  Cube result(static_cast<size_t>(t.dim(0)), Matrix(static_cast<size_t>(t.dim(1))));
  const auto depth = static_cast<ptrdiff_t>(t.dim(2));
  auto at = flat.begin();
  for (Matrix& rows : result) {
    for (Vector& row : rows) {
      row.assign(at, at + depth);
      at += depth;
    }
  }
  return result;
}

// Normal numbers times `scale`.
inline Tensor random_tensor(const Shape& shape, uint64_t seed, double scale = 1) {
  Tensor t(DType::f32, shape);
  RandomStream stream(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(scale * stream.next_normal());
  return t;
}

inline std::vector<Tensor> random_like(const std::vector<Tensor>& tensors, uint64_t seed) {
  std::vector<Tensor> made;
  for (const Tensor& t : tensors) made.push_back(random_tensor(t.shape(), ++seed, 0.5));
  return made;
}

// "simple", "gru", "gru_after" or "lstm", with Keras's weights. An empty bias is zero.
struct ReferenceCell {
  std::string kind;
  size_t units = 0;
  Vector kernel;
  Vector recurrent;
  Vector bias;
  bool sigmoid = false;  // in place of hard_sigmoid
  bool relu = false;     // in place of tanh

  double gate(double v) const {
    return sigmoid ? 1 / (1 + std::exp(-v)) : std::clamp(0.2 * v + 0.5, 0.0, 1.0);
  }
  double act(double v) const { return relu ? std::max(v, 0.0) : std::tanh(v); }
  size_t states() const { return kind == "lstm" ? 2 : 1; }

  // x times the matrix [x.size(), columns], column j.
  static double product(const Vector& x, const Vector& matrix, size_t columns, size_t j) {
    double sum = 0;
    for (size_t k = 0; k < x.size(); ++k) sum += x[k] * matrix[k * columns + j];
    return sum;
  }

  // The states after a step; the first is the output.
  Matrix step(const Vector& x, const Matrix& before) const {
    const size_t gates = kind == "simple" ? 1 : kind == "lstm" ? 4 : 3;
    const size_t columns = gates * units;
    const Vector& h = before[0];
    const auto b = [&](size_t j) { return bias.empty() ? 0.0 : bias[j]; };
    const auto in = [&](size_t g, size_t u) {
      return product(x, kernel, columns, g * units + u) + b(g * units + u);
    };
    const auto from = [&](const Vector& v, size_t g, size_t u) {
      return product(v, recurrent, columns, g * units + u);
    };
    Matrix after(states(), Vector(units));
    for (size_t u = 0; u < units; ++u) {
      if (kind == "simple") after[0][u] = act(in(0, u) + from(h, 0, u));
      if (kind == "lstm") {
        const double i = gate(in(0, u) + from(h, 0, u));
        const double f = gate(in(1, u) + from(h, 1, u));
        const double o = gate(in(3, u) + from(h, 3, u));
        after[1][u] = f * before[1][u] + i * act(in(2, u) + from(h, 2, u));
        after[0][u] = o * act(after[1][u]);
      }
    }
    if (kind == "gru" || kind == "gru_after") {
      const bool reset_after = kind == "gru_after";
      const auto b1 = [&](size_t g, size_t u) {
        return reset_after ? b(columns + g * units + u) : 0.0;
      };
      Vector rh(units);
      Vector r(units);
      for (size_t u = 0; u < units; ++u) {
        r[u] = gate(in(1, u) + from(h, 1, u) + b1(1, u));
        rh[u] = r[u] * h[u];
      }
      for (size_t u = 0; u < units; ++u) {
        const double z = gate(in(0, u) + from(h, 0, u) + b1(0, u));
        const double inner = reset_after ? r[u] * (from(h, 2, u) + b1(2, u)) : from(rh, 2, u);
        after[0][u] = z * h[u] + (1 - z) * act(in(2, u) + inner);
      }
    }
    return after;
  }
};

struct ReferenceRun {
  Cube outputs;                // in the order of processing
  std::vector<Matrix> states;  // [batch][state][units]
};

// Runs the cell over x [batch][time][depth]. mask[b][t] = 0 skips a step; empty: none. `initial`
// [batch][state][units]; empty: zeros.
inline ReferenceRun run_reference(const ReferenceCell& cell, const Cube& x, const Matrix& mask = {},
                                  const std::vector<Matrix>& initial = {}, bool backwards = false) {
  ReferenceRun run;
  for (size_t n = 0; n < x.size(); ++n) {
    Matrix states = initial.empty() ? Matrix(cell.states(), Vector(cell.units)) : initial[n];
    Matrix outputs;
    for (size_t i = 0; i < x[n].size(); ++i) {
      const size_t t = backwards ? x[n].size() - 1 - i : i;
      if (mask.empty() || mask[n][t] != 0) states = cell.step(x[n][t], states);
      outputs.push_back(states[0]);
    }
    run.outputs.push_back(std::move(outputs));
    run.states.push_back(std::move(states));
  }
  return run;
}

}  // namespace systole::keras::layers::testing
