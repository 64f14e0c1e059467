// The shape arguments of layers.
#pragma once

#include <initializer_list>
#include <optional>

#include "systole/base/shape.h"

namespace systole::keras {

// input_shape {4} or {28, 28, 1}, batch_input_shape {32, 4}; nullopt: the layer takes the shape of
// its input. (Alone, std::optional<Shape> does not take {4}.)
class InputShape : public std::optional<Shape> {
 public:
  using std::optional<Shape>::optional;
  InputShape(std::initializer_list<int64_t> dims) : std::optional<Shape>(Shape(dims)) {}
};

}  // namespace systole::keras
