// What the parts of the binding of Keras share.
#pragma once

#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/keras.h"
#include "values.h"

namespace systole::python {

// Errors: ValueError for text that is no JSON.
keras::Json json_of(const std::string& text);
nb::object python_of(const keras::Json& json);

// Objects of Python that a configuration names by their place in a list:
// {"class_name": "PythonObject", "config": {"place": 0}}. The list is known while the scope lives.
class LiveObjects {
 public:
  explicit LiveObjects(nb::list objects);
  ~LiveObjects();
  LiveObjects(const LiveObjects&) = delete;
  LiveObjects& operator=(const LiveObjects&) = delete;
  // Errors: INVALID_ARGUMENT where there is none, as in a file.
  static nb::object at(const keras::Json& config);

 private:
  const nb::list* previous_;
  nb::list objects_;
};
// Makes configurations know such objects as layers, initializers, regularizers and constraints.
void register_live_objects();

// A function of tensors that is Python's: it takes the GIL.
std::function<Output(const Output&)> tensor_function(nb::object f);
keras::LossFn loss_function(nb::object f);
// Of a name, or of {"class_name": ..., "config": {...}} as text. Errors: NOT_FOUND.
keras::LossSpec keras_loss_of(const std::string& text);
keras::MetricSpec keras_metric_of(const std::string& text);

// While a layer of Python is called, the program that it is called in.
class ContextScope {
 public:
  explicit ContextScope(keras::CallContext& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  // Null outside of all calls.
  static keras::CallContext* current();

 private:
  keras::CallContext* previous_;
};

// Handles on what Keras knows by value.
struct KerasOptimizerHandle {
  keras::OptimizerSpec optimizer;
};
struct KerasCallbackHandle {
  keras::CallbackPtr callback;
};

// A call of Keras, whose errors are Python's, without the GIL.
template <class F>
auto running(F&& f) {
  return building([&] {
    const nb::gil_scoped_release unlocked;
    return f();
  });
}

// While it exists, on its thread, the progress of fit() and evaluate() goes to sys.stdout, where a notebook or a program has put
// another object there than the process's own. For a thread with the GIL.
class PythonOutput {
 public:
  PythonOutput();
  ~PythonOutput();
  PythonOutput(const PythonOutput&) = delete;
  PythonOutput& operator=(const PythonOutput&) = delete;

 private:
  nb::object out_;
  std::FILE* file_ = nullptr;
  std::optional<keras::ProgressOutput> output_;
};

nb::list arrays_object(const std::vector<Tensor>& tensors);
std::vector<Tensor> tensors_of_list(nb::handle list, Keep* keep = nullptr);
nb::list layers_object(const std::vector<keras::Layer>& layers);
nb::list texts_object(const std::vector<std::string>& texts);

void bind_keras_layers(nb::module_& m);
void bind_keras_functions(nb::module_& m);
void bind_keras_models(nb::module_& m);
void bind_keras_callbacks(nb::module_& m);
void bind_keras_data(nb::module_& m);
void bind_keras_images(nb::module_& m);

}  // namespace systole::python
