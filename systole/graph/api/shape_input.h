// A shape as user functions take it: reshape(x, {-1, 10}), fill(shape(x), 0).
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// One size among others: a number, or a tensor.
class SizeInput {
 public:
  using Where = Input::Where;
  template <std::integral T>
  SizeInput(T size, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : input_(static_cast<int64_t>(size), where) {}
  SizeInput(Output size, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : input_(size, where) {}

  const Input& input() const { return input_; }

 private:
  Input input_;
};

// An integer vector: sizes written out, a Shape, or a tensor that is known when the program is
// compiled. Converting at the call captures the user's source line.
class ShapeInput {
 public:
  using Where = Input::Where;
  // Tensors among the sizes are scalars: {n, 10}, {n}; a vector alone is taken as it is. (A
  // template, so that {} is a list of numbers.)
  template <class = void>
  ShapeInput(std::initializer_list<SizeInput> sizes, Where where = Where::current())  // NOLINT
      : ShapeInput(std::span<const SizeInput>(sizes.begin(), sizes.size()), where) {}
  ShapeInput(std::initializer_list<int64_t> sizes, Where where = Where::current())  // NOLINT
      : ShapeInput(Shape(sizes), where) {}
  ShapeInput(const Shape& shape, Where where = Where::current());                // NOLINT
  ShapeInput(const std::vector<int64_t>& sizes, Where where = Where::current())  // NOLINT
      : ShapeInput(Shape(std::span<const int64_t>(sizes)), where) {}
  ShapeInput(Output sizes, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : input_(sizes, where) {}
  ShapeInput(Tensor sizes, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : input_(std::move(sizes), where) {}
  ShapeInput(const Input& sizes) : input_(sizes) {}  // NOLINT(google-explicit-constructor)
  ShapeInput(std::span<const SizeInput> sizes, Where where);

  // Sizes written out are s32, or s64 where one does not fit.
  const Input& input() const { return input_; }
  operator const Input&() const { return input_; }  // NOLINT(google-explicit-constructor)

 private:
  Input input_;
};

}  // namespace systole
