// Functions of C++ under the names that TensorFlow has for their arguments. A line binds one:
//
//   define<argmax>... is  function(m, "argmax", +[](const Input& x, const ArgOptions& o) {...}, {"input"},
//                                  field("axis", &ArgOptions::axis), ...);
//
// Arguments are converted by their C++ types. A struct of options takes the fields that are named,
// and `name`. Arguments that Python leaves out keep their defaults.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rules.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/shape_input.h"
#include "values.h"

namespace systole::python {

// What a call gives: values by name. None is absent.
struct Arguments {
  std::string_view function;
  nb::dict values;
  DType like = DType::invalid;  // the dtype of the first tensor: arrays among the others take it
  // By argument: the dtype of the tensors to which the op's definition gives the same type.
  const std::map<std::string, DType, std::less<>>* likes = nullptr;

  nb::object find(const char* name) const {
    return values.contains(name) ? nb::object(values[name]) : nb::none();
  }
  // Returns a copy whose `like` is that of one argument.
  Arguments of(const char* name) const {
    Arguments one = *this;
    if (likes == nullptr) return one;
    const auto found = likes->find(std::string_view(name));
    if (found != likes->end()) one.like = found->second;
    return one;
  }
};

// An argument's value could not be converted; `reason` is the text of Python's exception.
struct ArgumentError {
  std::string argument;
  nb::object value;
  std::string expected;
  std::string reason;
  bool is_type = true;  // TypeError, else ValueError

  // "argument 'axis', got 'a', expected an integer (...)"
  std::string to_string() const;
};

// Converts Python's value to T. `missing` is the default.
template <class T>
struct From;

template <class T>
concept Convertible = requires { From<T>::get(nb::handle(), std::declval<const Arguments&>()); };

// A number, or a list of one.
inline int64_t integer_of(nb::handle value) {
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    if (nb::len(value) != 1) {
      throw nb::type_error(fmt::format("{}, expected an integer", nb::repr(value).c_str()).c_str());
    }
    return integer_of(value[0]);
  }
  return nb::cast<int64_t>(nb::int_(nb::borrow(value)));
}

inline std::vector<double> numbers_of(nb::handle value) {
  std::vector<double> numbers;
  for (nb::handle element : nb::borrow<nb::object>(value)) {
    numbers.push_back(nb::cast<double>(nb::float_(nb::borrow(element))));
  }
  return numbers;
}

#define SYSTOLE_FROM(Type, expected, expression)                                              \
  template <>                                                                                 \
  struct From<Type> {                                                                         \
    static constexpr const char* kExpected = expected;                                        \
    static Type get(nb::handle value, [[maybe_unused]] const Arguments& a) { return expression; } \
  };
SYSTOLE_FROM(Input, "a tensor", input_of(value, a.like))
SYSTOLE_FROM(Output, "a tensor", output_of(value, a.like))
SYSTOLE_FROM(bool, "a bool", nb::cast<bool>(nb::bool_(nb::borrow(value))))
SYSTOLE_FROM(int, "an integer", nb::cast<int>(nb::int_(nb::borrow(value))))
SYSTOLE_FROM(int64_t, "an integer", integer_of(value))
SYSTOLE_FROM(uint32_t, "an integer", static_cast<uint32_t>(integer_of(value)))
SYSTOLE_FROM(double, "a number", nb::cast<double>(nb::float_(nb::borrow(value))))
SYSTOLE_FROM(std::string, "a text", nb::cast<std::string>(nb::str(value)))
SYSTOLE_FROM(DType, "a dtype", dtype_of_object(value))
SYSTOLE_FROM(Shape, "a shape", shape_of_object(value))
SYSTOLE_FROM(Axes, "an integer or a list of integers", Axes(integers_of(value)))
SYSTOLE_FROM(std::vector<int64_t>, "integers", integers_of(value))
SYSTOLE_FROM(std::vector<double>, "numbers", numbers_of(value))
SYSTOLE_FROM(Padding, "'SAME' or 'VALID'", Padding(nb::cast<std::string>(nb::str(value)).c_str()))
SYSTOLE_FROM(Initializer, "an initializer", initializer_of(value))
SYSTOLE_FROM(layers::Regularizer, "a regularizer", regularizer_of(value))
SYSTOLE_FROM(layers::Activation, "a function", activation_of(value))
SYSTOLE_FROM(Variable, "a variable", variable_of(value))
#undef SYSTOLE_FROM

template <>
struct From<layers::Training> {
  static constexpr const char* kExpected = "a bool";
  static layers::Training get(nb::handle value, const Arguments&) {
    if (symbolic_dtype(value) != DType::invalid) return layers::Training(output_of(value));
    return layers::Training(nb::cast<bool>(nb::bool_(nb::borrow(value))));
  }
};
template <>
struct From<layers::Extent> {
  static constexpr const char* kExpected = "one size, or two";
  static layers::Extent get(nb::handle value, const Arguments&) {
    const std::vector<int64_t> sizes = integers_of(value);
    return sizes.size() == 1 ? layers::Extent(sizes[0]) : layers::Extent(sizes.at(0), sizes.at(1));
  }
};
template <>
struct From<Reuse> {
  static Reuse get(nb::handle value, const Arguments&) {
    if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? Reuse::yes : Reuse::inherit;
    return Reuse::auto_reuse;
  }
};
template <>
struct From<ShapeInput> {
  static constexpr const char* kExpected = "a shape";
  static ShapeInput get(nb::handle value, const Arguments&) {
    if (symbolic_dtype(value) != DType::invalid) return ShapeInput(output_of(value));
    if (nb::hasattr(value, "as_list")) return ShapeInput(shape_of_object(value));
    if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) return ShapeInput(integers_of(value));
    std::vector<SizeInput> sizes;
    bool known = true;
    for (nb::handle size : nb::borrow<nb::object>(value)) known = known && symbolic_dtype(size) == DType::invalid;
    if (known) return ShapeInput(integers_of(value));
    for (nb::handle size : nb::borrow<nb::object>(value)) {
      if (symbolic_dtype(size) != DType::invalid) {
        sizes.emplace_back(output_of(size));
      } else {
        sizes.emplace_back(integers_of(nb::make_tuple(size)).front());
      }
    }
    return ShapeInput(std::span<const SizeInput>(sizes), Input::Where::current());
  }
};
template <>
struct From<InputList> {
  static constexpr const char* kExpected = "a list of tensors";
  static InputList get(nb::handle value, const Arguments& a) {
    DType like = a.like;
    for (nb::handle element : nb::borrow<nb::object>(value)) {
      if (like == DType::invalid) like = symbolic_dtype(element);
    }
    std::vector<Output> outputs;
    for (nb::handle element : nb::borrow<nb::object>(value)) outputs.push_back(output_of(element, like));
    return InputList(outputs);
  }
};
template <>
struct From<std::vector<Output>> {
  static std::vector<Output> get(nb::handle value, const Arguments& a) {
    std::vector<Output> outputs;
    for (nb::handle element : nb::borrow<nb::object>(value)) {
      outputs.push_back(element.is_none() ? Output() : output_of(element, a.like));
    }
    return outputs;
  }
};
template <>
struct From<std::vector<std::pair<int64_t, int64_t>>> {
  static std::vector<std::pair<int64_t, int64_t>> get(nb::handle value, const Arguments&) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (nb::handle element : nb::borrow<nb::object>(value)) {
      const std::vector<int64_t> two = integers_of(element);
      pairs.emplace_back(two.at(0), two.at(1));
    }
    return pairs;
  }
};
template <class T>
struct From<std::optional<T>> {
  static std::optional<T> get(nb::handle value, const Arguments& a) {
    return value.is_none() ? std::nullopt : std::optional<T>(From<T>::get(value, a));
  }
};

// Results.
inline nb::object result_object(const Output& output) { return wrap(output); }
inline nb::object result_object(const Operation& operation) { return wrap(operation); }
inline nb::object result_object(const std::vector<Output>& outputs) { return wrap(outputs); }
template <class A, class B>
nb::object result_object(const std::pair<A, B>& pair) {
  return nb::make_tuple(result_object(pair.first), result_object(pair.second));
}
template <class... T>
nb::object result_object(const std::tuple<T...>& all) {
  return std::apply([](const T&... part) { return nb::make_tuple(result_object(part)...); }, all);
}
template <class T>
requires requires(const T& result) { result.values; result.indices; }
nb::object result_object(const T& top) { return nb::make_tuple(wrap(top.values), wrap(top.indices)); }
template <class T>
requires requires(const T& result) { result.mean; result.variance; }
nb::object result_object(const T& m) { return nb::make_tuple(wrap(m.mean), wrap(m.variance)); }
template <class T>
requires requires(const T& result) { result.batch_mean; }
nb::object result_object(const T& r) {
  return nb::make_tuple(wrap(r.y), wrap(r.batch_mean), wrap(r.batch_variance));
}

// A bound function.
struct Function {
  std::string name;
  std::vector<std::string> arguments;
  std::function<nb::object(const Arguments&)> call;
  // Which arguments share a dtype, in the notation of op definitions (op_signature.h): "x: T, indices: Tindices". By
  // default that of the op of the function's name.
  std::string types;

  Function& with_types(std::string inputs) {
    types = std::move(inputs);
    return *this;
  }
};
// Makes it one of those that functions() lists.
Function& add_function(Function function);

template <class T>
constexpr const char* expected_of() {
  if constexpr (requires { From<T>::kExpected; }) {
    return From<T>::kExpected;
  } else if constexpr (requires { typename T::value_type; }) {
    return expected_of<typename T::value_type>();
  } else {
    return "another value";
  }
}
// To be called in a catch block. Throws ArgumentError if the exception is a failed conversion; else rethrows it.
[[noreturn]] void throw_argument_error(const char* argument, nb::handle value, const char* expected);

// The value as T. Errors: ArgumentError.
template <class T>
T convert(const char* argument, nb::handle value, const Arguments& a) {
  try {
    return From<T>::get(value, a.of(argument));
  } catch (...) {
    throw_argument_error(argument, value, expected_of<T>());
  }
}

template <class O, class M>
struct Field {
  const char* name;
  M O::*member;

  void set(O& options, const Arguments& a) const {
    const nb::object value = a.find(name);
    if (!value.is_none()) options.*member = convert<M>(name, value, a);
  }
};
template <class O, class M>
Field<O, M> field(const char* name, M O::*member) {
  return {name, member};
}

// The value of one parameter of a C++ function.
template <class T, class... F>
T argument(const Arguments& a, const std::vector<const char*>& names, size_t& next, const F&... fields) {
  if constexpr (std::is_same_v<T, Input::Where>) {
    return Input::Where::current();
  } else if constexpr (Convertible<T>) {
    const char* name = names.at(next++);
    const nb::object value = a.find(name);
    if constexpr (requires { typename T::value_type; } && std::is_constructible_v<T, std::nullopt_t>) {
      return value.is_none() ? T() : convert<T>(name, value, a);
    } else {
      if (value.is_none()) {
        if constexpr (std::is_same_v<T, std::string>) return {};
        throw nb::type_error(fmt::format("{}() missing required argument '{}'", a.function, name).c_str());
      }
      return convert<T>(name, value, a);
    }
  } else {
    T options{};
    (fields.set(options, a), ...);
    if constexpr (requires { options.name = std::string(); }) {
      const nb::object name = a.find("name");
      if (!name.is_none()) options.name = nb::cast<std::string>(nb::str(name));
    }
    return options;
  }
}

template <class R, class... A, class... F>
Function& function(const char* name, R (*f)(A...), std::vector<const char*> names, const F&... fields) {
  Function made{.name = name};
  for (const char* argument_name : names) made.arguments.emplace_back(argument_name);
  (made.arguments.emplace_back(fields.name), ...);
  made.call = [=](const Arguments& a) {
    [[maybe_unused]] size_t next = 0;
    // In braces: from the first to the last.
    std::tuple<std::decay_t<A>...> values{argument<std::decay_t<A>>(a, names, next, fields...)...};
    return result_object(std::apply(f, values));
  };
  return add_function(std::move(made));
}

// The lists.
void define_math();
void define_arrays();
void define_nn();
void define_layers();
void define_images();
void define_candidate_sampling();

}  // namespace systole::python
