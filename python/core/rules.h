// Functions that Python gives to C++, and C++ to Python.
#pragma once

#include <functional>
#include <memory>

#include "systole/graph/initializers/initializers.h"
#include "systole/train/layers.h"
#include "systole/train/optimizer.h"
#include "values.h"

namespace systole::python {

// What Python holds of an initializer of C++.
struct InitializerHandle {
  Initializer initializer;
};
struct RegularizerHandle {
  layers::Regularizer regularizer;
};

// A tf.train optimizer of the arguments of a Python object's, a new one each time it is called. Takes
// the GIL.
std::function<std::unique_ptr<Optimizer>()> train_optimizer_maker(nb::handle object);

// None, a handle, a class of initializers, or a function (shape, dtype=, partition_info=).
Initializer initializer_of(nb::handle object);
layers::Regularizer regularizer_of(nb::handle object);
layers::Activation activation_of(nb::handle object);

}  // namespace systole::python
