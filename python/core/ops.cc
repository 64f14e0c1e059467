// The functions that are bound by lists, and how Python calls them.
#include <algorithm>
#include <cctype>
#include <map>

#include "bindings.h"
#include "functions.h"
#include "ranks.h"
#include "systole/graph/core/op_signature.h"

namespace systole::python {
namespace {

std::map<std::string, Function, std::less<>>& functions() {
  static auto* all = new std::map<std::string, Function, std::less<>>();
  return *all;
}

// The comments of functions in the headers, by name (python/make_documentation.py).
std::string documentation_of(std::string_view function) {
  static const auto* all = new std::map<std::string_view, std::string_view>{
#include "documentation.inc"
  };
  const size_t dot = function.rfind('.');
  const auto found = all->find(dot == std::string_view::npos ? function : function.substr(dot + 1));
  return found == all->end() ? "" : std::string(found->second);
}

DType first_dtype(nb::dict values) {
  for (auto [name, value] : values) {
    const DType dtype = symbolic_dtype(value);
    if (dtype != DType::invalid) return dtype;
  }
  return DType::invalid;
}

// "reverse_sequence" -> "reversesequence"
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(name.rfind('.') + 1)) {
    if (c != '_') plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

// Returns the newest version of the op with the function's name. Null if there is none.
const OpDef* op_of(const Function& f) {
  static const auto* all = [] {
    auto* made = new std::map<std::string, const OpDef*, std::less<>>();
    for (const OpDef* op : all_op_defs()) made->emplace(plain_name(op->name), op);
    return made;
  }();
  const std::string name = plain_name(f.name);
  for (const char* version : {"v3", "v2", ""}) {
    if (const auto found = all->find(name + version); found != all->end()) return found->second;
  }
  return nullptr;
}

// An argument and its dtype in the op's definition: the name of a type, or a fixed dtype.
struct TypedArgument {
  std::string name;
  std::string type;
  DType dtype = DType::invalid;
};

const std::vector<TypedArgument>& typed_arguments(const Function& f) {
  static auto* known = new std::map<const Function*, std::vector<TypedArgument>>();
  const auto [place, is_new] = known->try_emplace(&f);
  if (!is_new) return place->second;
  OpSignature signature;
  if (!f.types.empty()) {
    signature = parse_signature(f.types, "", "");
  } else if (const OpDef* op = op_of(f)) {
    signature = signature_of(*op);
  }
  for (const SignatureArg& input : signature.inputs) {
    if (!input.is_list() && std::ranges::find(f.arguments, input.name) != f.arguments.end()) {
      place->second.push_back({input.name, input.type_attr, input.dtype});
    }
  }
  return place->second;
}

// Returns the dtype that a list or array gets, by argument: that of a tensor with the same type in the op's definition.
std::map<std::string, DType, std::less<>> likes_of(const Function& f, nb::dict values) {
  std::map<std::string, DType, std::less<>> types;
  const std::vector<TypedArgument>& arguments = typed_arguments(f);
  for (const TypedArgument& argument : arguments) {
    if (argument.type.empty() || !values.contains(argument.name.c_str())) continue;
    const DType dtype = symbolic_dtype(values[argument.name.c_str()]);
    if (dtype != DType::invalid) types.emplace(argument.type, dtype);
  }
  std::map<std::string, DType, std::less<>> likes;
  for (const TypedArgument& argument : arguments) {
    const auto found = types.find(argument.type);
    likes[argument.name] = found == types.end() ? argument.dtype : found->second;
  }
  return likes;
}

// "tf.argmax: argument 'axis', got 'a', expected an integer (...); tf.argmax(input, axis=None, ...)"
[[noreturn]] void throw_for_python(const ArgumentError& error, nb::handle called) {
  const std::string line = nb::cast<std::string>(nb::str(called));
  const std::string text = fmt::format("tf.{}: {}; tf.{}", line.substr(0, line.find('(')), error.to_string(), line);
  if (error.is_type) throw nb::type_error(text.c_str());
  throw nb::value_error(text.c_str());
}

// `called`: the function's name with its arguments, as errors show it.
nb::object call_function(const Function& f, nb::dict values, nb::handle called) {
  const auto call = [&](nb::dict given) {
    const auto likes = likes_of(f, given);
    return f.call({f.name, given, first_dtype(given), likes.empty() ? nullptr : &likes});
  };
  try {
    return call(values);
  } catch (const ArgumentError& error) {
    throw_for_python(error, called);
  } catch (const Error&) {
    nb::object result = call_with_ranks(values, call);
    if (!result.is_valid()) throw;
    return result;
  }
}

}  // namespace

Function& add_function(Function function) {
  Function& place = functions()[function.name];
  place = std::move(function);
  return place;
}

std::string ArgumentError::to_string() const {
  constexpr size_t kLongest = 100;
  std::string got = nb::repr(value).c_str();
  if (got.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(got[end]) & 0xC0U) == 0x80U) --end;  // within a character of UTF-8
    got = got.substr(0, end) + "...";
  }
  return fmt::format("argument '{}', got {}, expected {} ({})", argument, got, expected, reason);
}

void throw_argument_error(const char* argument, nb::handle value, const char* expected) {
  const auto error = [&](const char* reason, bool is_type) {
    return ArgumentError{argument, nb::borrow(value), expected, reason, is_type};
  };
  try {
    throw;
  } catch (nb::python_error& raised) {
    const bool is_value = raised.matches(PyExc_ValueError);
    if (!is_value && !raised.matches(PyExc_TypeError) && !raised.matches(PyExc_OverflowError)) throw;
    throw error(nb::str(raised.value()).c_str(), !is_value);
  } catch (const nb::builtin_exception& raised) {
    const bool is_value = raised.type() == nb::exception_type::value_error;
    if (!is_value && raised.type() != nb::exception_type::type_error) throw;
    throw error(raised.what(), !is_value);
  } catch (const std::bad_cast& raised) {
    throw error("of another type", true);
  } catch (const std::out_of_range&) {
    throw error("of too few elements", false);
  }
}

void bind_ops(nb::module_& m) {
  define_math();
  define_arrays();
  define_nn();
  define_layers();
  define_images();
  define_candidate_sampling();
  nb::class_<Function>(m, "Function")
      .def_prop_ro("name", [](const Function& f) { return f.name; })
      .def_prop_ro("documentation", [](const Function& f) { return documentation_of(f.name); })
      .def_prop_ro("arguments",
                   [](const Function& f) {
                     nb::list names;
                     for (const std::string& name : f.arguments) names.append(name);
                     return names;
                   })
      .def("__call__", [](const Function& f, nb::dict values, nb::handle called) {
        return building([&] { return call_function(f, values, called); });
      });
  m.def("documentation", [](const std::string& function) { return documentation_of(function); });
  m.def("functions", [] {
    nb::dict all;
    for (auto& [name, function] : functions()) {
      all[name.c_str()] = nb::cast(&function, nb::rv_policy::reference);
    }
    return all;
  });
}

}  // namespace systole::python
