#include "systole/graph/functions/variable_scope.h"

#include <algorithm>
#include <map>

#include "systole/base/suggest.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

// Lists every variable that get_variable made, whatever collections it stands in.
constexpr std::string_view kStore = "_get_variable";

struct Scope {
  const Graph* graph = nullptr;
  std::string name;
  Reuse reuse = Reuse::no;
  Initializer initializer;
  DType dtype = DType::f32;
  CustomGetter custom_getter;
  std::map<std::string, int64_t> default_names;  // how often each was entered in this scope
};

std::vector<Scope>& scopes() {
  thread_local std::vector<Scope> scopes;
  return scopes;
}

// The innermost scope of the current graph; the one around all scopes when there is none.
Scope& current_scope() {
  const Graph* graph = &Graph::current().root();
  for (auto it = scopes().rbegin(); it != scopes().rend(); ++it) {
    if (it->graph == graph) return *it;
  }
  thread_local Scope top;
  if (top.graph != graph) top = {.graph = graph};
  return top;
}

std::string join(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
}

// The given name, or the default name made unique. Counting starts anew each time the scope around
// is entered, so that a model that is built twice in a scope finds its variables again.
std::string chosen_name(std::string_view name, const std::string& default_name) {
  if (!name.empty()) return std::string(name);
  if (default_name.empty()) {
    throw invalid_argument("variable_scope: name, got none, expected it or a default_name");
  }
  Scope& outer = current_scope();
  int64_t& entered = outer.name.empty()
                         ? Graph::current().root().counter("variable_scope/" + default_name)
                         : outer.default_names[default_name];
  const int64_t times = entered++;
  return times == 0 ? default_name : fmt::format("{}_{}", default_name, times);
}

// A trailing "/" gives the whole name.
std::string full_name(std::string_view name) {
  if (name.ends_with('/')) return std::string(name.substr(0, name.size() - 1));
  return join(current_scope().name, name);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

const Variable* find_variable(const std::vector<Variable>& store, const std::string& name) {
  const auto it = std::ranges::find(store, name, &Variable::name);
  return it == store.end() ? nullptr : &*it;
}

Variable reuse_variable(const Variable& variable, const TensorType& wanted) {
  if (variable.type() != wanted) {
    throw invalid_argument("get_variable: variable '{}', got {}, expected {}, as it was made",
                           variable.name(), wanted, variable.type());
  }
  return variable;
}

Variable make_variable(const std::string& name, const TensorType& type,
                       const Initializer& initializer, const GetVariableOptions& options) {
  Graph& graph = Graph::current().root();
  const GraphScope graph_scope(graph);
  const ControlDependencies lifted(nullptr);
  const NameScope top("/");
  Output initial_value;
  {
    const NameScope scope(name + "/Initializer/");
    initial_value = initializer(type.shape, type.dtype);
  }
  if (!initial_value.valid() || initial_value.type() != type) {
    throw invalid_argument("get_variable: initializer of '{}', got {}, expected {}", name,
                           initial_value.valid() ? initial_value.type().to_string() : "none", type);
  }
  const Variable variable(initial_value, {.name = name,
                                          .trainable = options.trainable,
                                          .dtype = type.dtype,
                                          .collections = options.collections});
  graph.add_to_collection(kStore, variable);
  if (options.regularizer) {
    const NameScope scope(name + "/Regularizer/");
    graph.add_to_collection(graph_keys::regularization_losses,
                            options.regularizer(variable.value()));
  }
  return variable;
}

// The variable of the current scope, made or found, without its custom getter.
Variable stored_variable(std::string_view name, const Shape& shape,
                         const GetVariableOptions& options) {
  const Scope& scope = current_scope();
  const std::string full_name = join(scope.name, name);
  const TensorType type{options.dtype == DType::invalid ? scope.dtype : options.dtype, shape};
  const auto store = Graph::current().root().collection<Variable>(kStore);
  const Variable* existing = find_variable(store, full_name);
  if (existing != nullptr && scope.reuse == Reuse::no) {
    throw make_error(
        Code::already_exists,
        "get_variable: variable '{}', got it again, expected a new name, or a scope with "
        "reuse; it was made at {}",
        full_name, existing->handle().node()->where().to_string());
  }
  if (existing != nullptr) return reuse_variable(*existing, type);
  if (scope.reuse == Reuse::yes) {
    std::vector<std::string> names;
    for (const Variable& variable : store) names.push_back(variable.name());
    throw not_found("get_variable: variable '{}', got none, expected one to reuse{}", full_name,
                    did_you_mean(full_name, names));
  }
  Initializer initializer = options.initializer ? options.initializer : scope.initializer;
  if (!initializer)
    initializer = is_floating(type.dtype) ? glorot_uniform_initializer() : zeros_initializer();
  return make_variable(full_name, type, initializer, options);
}

// Calls `inner` with `outer` before the getter, where there is one.
CustomGetter composed(const CustomGetter& inner, const CustomGetter& outer) {
  if (!inner || !outer) return inner ? inner : outer;
  return [inner, outer](const VariableGetter& getter, std::string_view name, const Shape& shape,
                        const GetVariableOptions& options) {
    const VariableGetter next = [&](std::string_view n, const Shape& s,
                                    const GetVariableOptions& o) { return outer(getter, n, s, o); };
    return inner(next, name, shape, options);
  };
}

Variable bfloat16_getter(const VariableGetter& getter, std::string_view name, const Shape& shape,
                         const GetVariableOptions& options) {
  if (options.dtype != DType::bf16) return getter(name, shape, options);
  GetVariableOptions stored = options;
  stored.dtype = DType::f32;
  const Variable variable = getter(name, shape, stored);
  return variable.with_value(cast(variable.value(), DType::bf16));
}

}  // namespace

VariableScope::VariableScope(std::string_view name, const VariableScopeOptions& options)
    : VariableScope(chosen_name(name, options.default_name), options, ChosenName()) {}

VariableScope::VariableScope(const std::string& name, const VariableScopeOptions& options,
                             ChosenName)
    : name_(full_name(name)), name_scope_(name.ends_with('/') ? last_part(name_) : name) {
  const Scope& outer = current_scope();
  Scope scope = {.graph = outer.graph,
                 .name = name_,
                 .reuse = options.reuse == Reuse::inherit ? outer.reuse : options.reuse,
                 .initializer = options.initializer ? options.initializer : outer.initializer,
                 .dtype = options.dtype == DType::invalid ? outer.dtype : options.dtype,
                 .custom_getter = composed(options.custom_getter, outer.custom_getter)};
  scopes().push_back(std::move(scope));
}

VariableScope::~VariableScope() { scopes().pop_back(); }

Variable get_variable(std::string_view name, const Shape& shape, const GetVariableOptions& options,
                      Input::Where where) {
  const WhereScope where_scope{SourceLocation(where)};
  const CustomGetter getter = current_scope().custom_getter;
  if (!getter) return stored_variable(name, shape, options);
  GetVariableOptions wanted = options;
  if (wanted.dtype == DType::invalid) wanted.dtype = current_scope().dtype;
  return getter(stored_variable, name, shape, wanted);
}

Bfloat16Scope::Bfloat16Scope(std::string_view name) {
  if (!name.empty()) {
    named_.emplace(name, VariableScopeOptions{.custom_getter = bfloat16_getter});
    return;
  }
  Scope scope = current_scope();
  scope.custom_getter = composed(bfloat16_getter, scope.custom_getter);
  scopes().push_back(std::move(scope));
}

Bfloat16Scope::~Bfloat16Scope() {
  if (!named_) scopes().pop_back();
}

}  // namespace systole
