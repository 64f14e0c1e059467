// Functions that Python gives to C++, and C++ to Python.
#pragma once

#include <functional>

#include "systole/graph/initializers/initializers.h"
#include "systole/train/layers.h"
#include "values.h"

namespace systole::python {

// What Python holds of an initializer of C++.
struct InitializerHandle {
  Initializer initializer;
};
struct RegularizerHandle {
  layers::Regularizer regularizer;
};

// None, a handle, a class of initializers, or a function (shape, dtype=, partition_info=).
Initializer initializer_of(nb::handle object);
layers::Regularizer regularizer_of(nb::handle object);
layers::Activation activation_of(nb::handle object);

}  // namespace systole::python
