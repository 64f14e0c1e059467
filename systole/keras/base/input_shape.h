// The shape arguments of layers.
#pragma once

#include <initializer_list>
#include <optional>

#include "systole/base/shape.h"

namespace systole::keras {

// The shape of a layer's input, such as {4} or {28, 28, 1}; nullopt where the layer takes it from
// the layer before. A std::optional<Shape> cannot be initialized with {4}; this class can.
class InputShape : public std::optional<Shape> {
 public:
  using std::optional<Shape>::optional;
  InputShape(std::initializer_list<int64_t> dims) : std::optional<Shape>(Shape(dims)) {}
};

}  // namespace systole::keras
