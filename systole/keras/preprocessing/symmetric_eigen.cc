#include "systole/keras/preprocessing/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace systole::keras {
namespace {

// The names are those of the paper. at(k, j) is row k, column j; columns are contiguous.
class TridiagonalQl {
 public:
  TridiagonalQl(std::vector<double> matrix, int64_t size)
      : n_(size), v_(std::move(matrix)), d_(static_cast<size_t>(n_)), e_(static_cast<size_t>(n_)) {}

  SymmetricEigen run() {
    if (n_ > 0) {
      for (int64_t j = 0; j < n_; ++j) diagonal(j) = at(n_ - 1, j);
      for (int64_t i = n_ - 1; i > 0; --i) reduce(i);
      accumulate();
      for (int64_t i = 1; i < n_; ++i) side(i - 1) = side(i);
      side(n_ - 1) = 0;
      for (int64_t l = 0; l < n_; ++l) find_value(l);
    }
    return {.values = std::move(d_), .vectors = std::move(v_)};
  }

 private:
  double& at(int64_t k, int64_t j) { return v_[static_cast<size_t>(j * n_ + k)]; }
  double& diagonal(int64_t i) { return d_[static_cast<size_t>(i)]; }
  double& side(int64_t i) { return e_[static_cast<size_t>(i)]; }

  // One Householder step of tred2: clears row i beside the diagonal.
  void reduce(int64_t i) {
    double scale = 0;
    for (int64_t k = 0; k < i; ++k) scale += std::abs(diagonal(k));
    double h = 0;
    if (scale == 0) {
      side(i) = diagonal(i - 1);
      for (int64_t j = 0; j < i; ++j) {
        diagonal(j) = at(i - 1, j);
        at(i, j) = at(j, i) = 0;
      }
    } else {
      for (int64_t k = 0; k < i; ++k) {
        diagonal(k) /= scale;
        h += diagonal(k) * diagonal(k);
      }
      const double f = diagonal(i - 1);
      const double g = f > 0 ? -std::sqrt(h) : std::sqrt(h);
      side(i) = scale * g;
      h -= f * g;
      diagonal(i - 1) = f - g;
      reflect(i, h);
    }
    diagonal(i) = h;
  }

  // Applies the reflection of row i to the rows above.
  void reflect(int64_t i, double h) {
    for (int64_t j = 0; j < i; ++j) side(j) = 0;
    for (int64_t j = 0; j < i; ++j) {
      const double f = diagonal(j);
      at(j, i) = f;
      double g = side(j) + at(j, j) * f;
      for (int64_t k = j + 1; k < i; ++k) {
        g += at(k, j) * diagonal(k);
        side(k) += at(k, j) * f;
      }
      side(j) = g;
    }
    double f = 0;
    for (int64_t j = 0; j < i; ++j) {
      side(j) /= h;
      f += side(j) * diagonal(j);
    }
    for (int64_t j = 0; j < i; ++j) side(j) -= f / (h + h) * diagonal(j);
    for (int64_t j = 0; j < i; ++j) {
      const double dj = diagonal(j);
      const double ej = side(j);
      for (int64_t k = j; k < i; ++k) at(k, j) -= dj * side(k) + ej * diagonal(k);
      diagonal(j) = at(i - 1, j);
      at(i, j) = 0;
    }
  }

  void accumulate() {
    for (int64_t i = 0; i < n_ - 1; ++i) {
      at(n_ - 1, i) = at(i, i);
      at(i, i) = 1;
      const double h = diagonal(i + 1);
      if (h != 0) {
        for (int64_t k = 0; k <= i; ++k) diagonal(k) = at(k, i + 1) / h;
        for (int64_t j = 0; j <= i; ++j) {
          double g = 0;
          for (int64_t k = 0; k <= i; ++k) g += at(k, i + 1) * at(k, j);
          for (int64_t k = 0; k <= i; ++k) at(k, j) -= g * diagonal(k);
        }
      }
      for (int64_t k = 0; k <= i; ++k) at(k, i + 1) = 0;
    }
    for (int64_t j = 0; j < n_; ++j) {
      diagonal(j) = at(n_ - 1, j);
      at(n_ - 1, j) = 0;
    }
    at(n_ - 1, n_ - 1) = 1;
    side(0) = 0;
  }

  // Iterations of tql2 for value l.
  void find_value(int64_t l) {
    constexpr double kEpsilon = 2.220446049250313e-16;
    limit_ = std::max(limit_, std::abs(diagonal(l)) + std::abs(side(l)));
    int64_t m = l;
    while (m < n_ && std::abs(side(m)) > kEpsilon * limit_) ++m;
    if (m > l) {
      do {
        step(l, m);
      } while (std::abs(side(l)) > kEpsilon * limit_);
    }
    diagonal(l) += shift_;
    side(l) = 0;
  }

  void step(int64_t l, int64_t m) {
    const double start = diagonal(l);
    const double ratio = (diagonal(l + 1) - start) / (2 * side(l));
    const double root = ratio < 0 ? -std::hypot(ratio, 1) : std::hypot(ratio, 1);
    diagonal(l) = side(l) / (ratio + root);
    diagonal(l + 1) = side(l) * (ratio + root);
    const double next = diagonal(l + 1);
    const double change = start - diagonal(l);
    for (int64_t i = l + 2; i < n_; ++i) diagonal(i) -= change;
    shift_ += change;
    const double second = side(l + 1);
    double p = diagonal(m);
    double c = 1;
    double c2 = 1;
    double c3 = 1;
    double s = 0;
    double s2 = 0;
    for (int64_t i = m - 1; i >= l; --i) {
      c3 = c2;
      c2 = c;
      s2 = s;
      const double g = c * side(i);
      const double h = c * p;
      const double r = std::hypot(p, side(i));
      side(i + 1) = s * r;
      s = side(i) / r;
      c = p / r;
      p = c * diagonal(i) - s * g;
      diagonal(i + 1) = h + s * (c * g + s * diagonal(i));
      for (int64_t k = 0; k < n_; ++k) {
        const double upper = at(k, i + 1);
        at(k, i + 1) = s * at(k, i) + c * upper;
        at(k, i) = c * at(k, i) - s * upper;
      }
    }
    p = -s * s2 * c3 * second * side(l) / next;
    side(l) = s * p;
    diagonal(l) = c * p;
  }

  int64_t n_;
  std::vector<double> v_;
  std::vector<double> d_;
  std::vector<double> e_;
  double limit_ = 0;
  double shift_ = 0;
};

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, int64_t n) {
  return TridiagonalQl(std::move(matrix), n).run();
}

}  // namespace systole::keras
