// Values on their way between Python and C++: tensors of graphs, NumPy arrays, dtypes, shapes, nests.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/nest.h"
#include "systole/base/tensor.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/core/where_scope.h"

// Functions take None for objects of any type, without a note at each argument.
template <>
struct nanobind::detail::has_arg_defaults<nanobind::object> : std::true_type {};
template <>
struct nanobind::detail::has_arg_defaults<nanobind::handle> : std::true_type {};

namespace systole::python {

namespace nb = nanobind;

// tf.Tensor, tf.Operation, tf.Variable: handles that keep the outermost graph alive.
struct TensorHandle {
  Output output;
  std::shared_ptr<Graph> graph;
};
struct OperationHandle {
  Operation operation;
  std::shared_ptr<Graph> graph;
};
struct VariableHandle {
  Variable variable;
  std::shared_ptr<Graph> graph;
};

// Null for a graph that no shared_ptr owns.
std::shared_ptr<Graph> owner_of(Graph& graph);

// Each gives None for an invalid one.
nb::object wrap(const Output& output);
nb::object wrap(const Operation& operation);
nb::object wrap(const Variable& variable);
nb::object wrap(const std::vector<Output>& outputs);

// -- Dtypes and shapes. Python's DType is an object with the attribute `name`, TensorFlow's.

// Errors: TypeError.
DType dtype_of_object(nb::handle object);
// The name of TensorFlow.
std::string dtype_name(DType dtype);
// None, -1 and dimensions without a value are unknown. Errors: TypeError, ValueError.
Shape shape_of_object(nb::handle object);
nb::object shape_object(const Shape& shape);

// -- Arrays.

// A tensor of the numbers of an array, or of anything that NumPy makes one of. `like`: the dtype
// that it is to have; else NumPy's, of Python's own numbers TensorFlow's (int32, float32).
// Views the memory of arrays, which `keep` then holds, where `keep` is given and no conversion is
// needed; else copies. Errors: TypeError, ValueError.
struct Keep {
  std::vector<Py_buffer> buffers;
  Keep() = default;
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  ~Keep();
  // Returns whether the elements of `tensor` lie in an array that is held.
  bool holds(const Tensor& tensor) const;
};
Tensor tensor_of(nb::handle value, DType like = DType::invalid, Keep* keep = nullptr);

// A NumPy array over the tensor's memory, which it keeps alive; strings are an array of bytes
// objects, scalars a NumPy scalar.
nb::object array_of(const Tensor& tensor);

// -- Arguments of ops.

// A tensor, a variable, a number, a text, or an array. `like` is the dtype that arrays and lists take.
Input input_of(nb::handle value, DType like = DType::invalid);
// A tensor of the current graph.
Output output_of(nb::handle value, DType like = DType::invalid);
// The dtype of a tensor or a variable; invalid for anything else.
DType symbolic_dtype(nb::handle value);
// The tensor, operation or variable. Errors: TypeError.
Operation operation_of(nb::handle value);
Variable variable_of(nb::handle value);
std::vector<int64_t> integers_of(nb::handle value);

// -- Nests: tuples, lists and dicts.

template <class T>
Nest<T> nest_of(nb::handle value, const std::function<T(nb::handle)>& leaf) {
  if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
    std::vector<Nest<T>> elements;
    for (nb::handle element : nb::borrow<nb::object>(value)) {
      elements.push_back(nest_of<T>(element, leaf));
    }
    return Nest<T>::tuple(std::move(elements));
  }
  if (PyDict_Check(value.ptr())) {
    std::vector<std::pair<std::string, Nest<T>>> entries;
    for (auto [key, element] : nb::borrow<nb::dict>(value)) {
      entries.emplace_back(nb::cast<std::string>(nb::str(key)), nest_of<T>(element, leaf));
    }
    return Nest<T>::dict(std::move(entries));
  }
  return Nest<T>(leaf(value));
}

template <class T>
nb::object nest_object(const Nest<T>& nest, const std::function<nb::object(const T&)>& leaf) {
  if (nest.is_leaf()) return leaf(nest.leaf());
  if (nest.is_dict()) {
    nb::dict result;
    size_t next = 0;
    for (const Nest<T>& element : nest) {
      result[nest.names()[next++].c_str()] = nest_object<T>(element, leaf);
    }
    return result;
  }
  nb::list result;
  for (const Nest<T>& element : nest) result.append(nest_object<T>(element, leaf));
  return nb::tuple(result);
}

Nest<Output> outputs_of(nb::handle value);
nb::object outputs_object(const Nest<Output>& nest);

// -- Calls.

// A Python object that C++ keeps: any thread may drop it.
class Held {
 public:
  Held() = default;
  explicit Held(nb::object object);
  nb::handle get() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  std::shared_ptr<nb::object> object_;
};

// While it lives, nodes that are added carry the line of the user's program that Python runs now.
class UserLine {
 public:
  UserLine();

 private:
  WhereScope scope_;
};
// Frames of files below these folders are ours, and never the user's.
void set_own_folders(std::vector<std::string> folders);

// Runs what builds a graph, at the user's line. Errors of the arguments are Python's own ones, as in
// TensorFlow: ValueError, KeyError, NotImplementedError.
[[noreturn]] void throw_building_error(const Error& error);
template <class F>
auto building(F&& f) {
  const UserLine line;
  try {
    return f();
  } catch (const Error& error) {
    throw_building_error(error);
  }
}

}  // namespace systole::python
