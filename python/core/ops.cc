// The functions that are bound by lists, and how Python calls them.
#include <map>

#include "bindings.h"
#include "functions.h"
#include "ranks.h"

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

nb::object call_function(const Function& f, nb::dict values) {
  const auto call = [&](nb::dict given) { return f.call({f.name, given, first_dtype(given)}); };
  try {
    return call(values);
  } catch (const Error&) {
    nb::object result = call_with_ranks(values, call);
    if (!result.is_valid()) throw;
    return result;
  }
}

}  // namespace

void add_function(Function function) { functions()[function.name] = std::move(function); }

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
      .def("__call__", [](const Function& f, nb::dict values) {
        return building([&] { return call_function(f, values); });
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
