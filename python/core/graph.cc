// Binds Graph, Tensor, Operation, Variable and scopes to Python, and create_op(), through which
// Python adds every operation.
#include <map>

#include "bindings.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/variable_gradients.h"
#include "rules.h"
#include "values.h"

namespace systole::python {
namespace {

// `with`: something that lives between __enter__ and __exit__.
struct Scope {
  std::function<std::shared_ptr<void>()> make;
  std::shared_ptr<void> entered = nullptr;
};

template <class F>
Scope scope(F make) {
  return Scope{[make = std::move(make)]() -> std::shared_ptr<void> { return make(); }};
}

// -- Ops by name.

AttrValue attr_of(const SignatureAttr& attr, nb::handle value) {
  switch (attr.kind) {
    case AttrKind::boolean:
      return nb::cast<bool>(nb::bool_(nb::borrow(value)));
    case AttrKind::integer:
      return nb::cast<int64_t>(nb::int_(nb::borrow(value)));
    case AttrKind::floating:
      return nb::cast<double>(nb::float_(nb::borrow(value)));
    case AttrKind::string:
      return PyBytes_Check(value.ptr()) ? nb::cast<std::string>(value.attr("decode")())
                                        : nb::cast<std::string>(value);
    case AttrKind::type:
      return dtype_of_object(value);
    case AttrKind::shape:
      return shape_of_object(value);
    case AttrKind::tensor:
      return tensor_of(value);
    case AttrKind::integers:
      return integers_of(value);
    case AttrKind::strings: {
      std::vector<std::string> texts;
      for (nb::handle text : nb::borrow<nb::object>(value)) texts.push_back(nb::cast<std::string>(text));
      return texts;
    }
    default:
      throw nb::type_error(
          fmt::format("attribute '{}', a {}, cannot be given", attr.name, to_string(attr.kind)).c_str());
  }
}

AttrMap attrs_of(const OpDef& op, const OpSignature& signature, nb::dict values) {
  AttrMap attrs;
  for (const SignatureAttr& attr : signature.attrs) {
    if (attr.fallback && !attr.fixed) attrs[attr.name] = *attr.fallback;
  }
  for (auto [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const SignatureAttr* attr = signature.find(name);
    if (attr == nullptr) {
      throw nb::type_error(fmt::format("{}: attribute '{}', expected one of its own", op.name, name).c_str());
    }
    if (!attr->fixed) attrs[name] = attr_of(*attr, value);
  }
  return attrs;
}

// The dtypes that tell attributes such as T: of attributes given, then of the first tensor.
std::map<std::string, DType> types_of(const OpSignature& signature, nb::list inputs, const AttrMap& attrs) {
  std::map<std::string, DType> types;
  for (const auto& [name, value] : attrs) {
    if (const auto* type = std::get_if<DType>(&value)) types[name] = *type;
  }
  for (size_t i = 0; i < signature.inputs.size() && i < inputs.size(); ++i) {
    const SignatureArg& arg = signature.inputs[i];
    if (arg.type_attr.empty() || arg.several_types) continue;
    const auto note = [&](nb::handle value) {
      const DType dtype = symbolic_dtype(value);
      if (dtype != DType::invalid) types.emplace(arg.type_attr, dtype);
    };
    if (!arg.is_list()) {
      note(inputs[i]);
      continue;
    }
    for (nb::handle value : inputs[i]) note(value);
  }
  return types;
}

std::vector<Output> inputs_of(const OpDef& op, const OpSignature& signature, nb::list inputs,
                              std::map<std::string, DType>& types) {
  if (inputs.size() != signature.inputs.size()) {
    throw nb::type_error(
        fmt::format("{}: inputs, got {}, expected {}", op.name, inputs.size(), signature.inputs.size()).c_str());
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const SignatureArg& arg = signature.inputs[i];
    const auto add = [&](nb::handle value) {
      const auto known = types.find(arg.type_attr);
      const DType like = arg.dtype != DType::invalid                       ? arg.dtype
                         : arg.several_types || known == types.end() ? DType::invalid
                                                                           : known->second;
      outputs.push_back(output_of(value, like));
      if (!arg.type_attr.empty() && !arg.several_types) types.emplace(arg.type_attr, outputs.back().dtype());
    };
    if (arg.is_list()) {
      for (nb::handle value : inputs[i]) add(value);
    } else {
      add(inputs[i]);
    }
  }
  return outputs;
}

// A list of tensors, or the operation where there is none.
nb::object create_op(const std::string& type, nb::list inputs, nb::dict values, const std::string& name) {
  return building([&]() -> nb::object {
    const OpDef& op = find_op_def(type);
    const OpSignature& signature = signature_of(op);
    AttrMap attrs = attrs_of(op, signature, values);
    auto types = types_of(signature, inputs, attrs);
    std::vector<Output> resolved = inputs_of(op, signature, inputs, types);
    for (const auto& [attr, dtype] : types) attrs.emplace(attr, dtype);
    Node* node = Graph::current().add_node(type, std::move(resolved), std::move(attrs), WhereScope::current(),
                                           name);
    if (node->num_outputs() == 0) return wrap(Operation(node));
    return wrap(node->outputs());
  });
}

// What Python needs to know of an op: ((input name, is list), ...), ((attr, kind, default), ...).
nb::object describe(const OpDef& op) {
  const OpSignature& signature = signature_of(op);
  nb::list inputs;
  for (const SignatureArg& arg : signature.inputs) inputs.append(nb::make_tuple(arg.name, arg.is_list()));
  nb::list attrs;
  for (const SignatureAttr& attr : signature.attrs) {
    if (attr.fixed || attr.name.starts_with('_')) continue;
    nb::object usual = nb::none();
    if (attr.fallback) {
      std::visit(
          [&]<class T>(const T& value) {
            if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                          std::is_same_v<T, std::string>) {
              usual = nb::cast(value);
            } else if constexpr (std::is_same_v<T, DType>) {
              usual = nb::cast(dtype_name(value));
            }
          },
          static_cast<const AttrValue::variant&>(*attr.fallback));
    }
    attrs.append(nb::make_tuple(attr.name, std::string(to_string(attr.kind)), usual, attr.fallback.has_value()));
  }
  nb::list outputs;
  for (const SignatureArg& arg : signature.outputs) outputs.append(nb::make_tuple(arg.name, arg.is_list()));
  return nb::make_tuple(std::string(op.name), std::string(op.doc), inputs, attrs, outputs);
}

// -- Variables.

std::vector<std::string> texts_of(nb::handle list) {
  std::vector<std::string> texts;
  if (list.is_none()) return texts;
  if (PyUnicode_Check(list.ptr())) return {nb::cast<std::string>(list)};
  for (nb::handle text : nb::borrow<nb::object>(list)) texts.push_back(nb::cast<std::string>(text));
  return texts;
}

nb::object make_variable(nb::object initial_value, const std::string& name, bool trainable, nb::object collections,
                         nb::object dtype) {
  return building([&] {
    const DType wanted = dtype_of_object(dtype);
    return wrap(Variable(input_of(initial_value, wanted), VariableOptions{.name = name,
                                                                          .trainable = trainable,
                                                                          .dtype = wanted,
                                                                          .collections = texts_of(collections)}));
  });
}

Reuse reuse_of(nb::handle reuse) {
  if (reuse.is_none()) return Reuse::inherit;
  if (PyBool_Check(reuse.ptr())) return reuse.ptr() == Py_True ? Reuse::yes : Reuse::inherit;
  return Reuse::auto_reuse;
}

nb::object make_get_variable(const std::string& name, nb::object shape, nb::object dtype, nb::object initializer,
                             bool trainable, nb::object collections) {
  return building([&] {
    return wrap(get_variable(name, shape_of_object(shape),
                             GetVariableOptions{.dtype = dtype_of_object(dtype),
                                                .initializer = initializer_of(initializer),
                                                .trainable = trainable,
                                                .collections = texts_of(collections)}));
  });
}

// A function of Python, f(getter, name, shape=..., dtype=..., initializer=..., trainable=...), which gives the getter's
// variable, or a tensor that stands for its value.
CustomGetter custom_getter_of(nb::object f) {
  if (f.is_none()) return nullptr;
  return [held = Held(f)](const VariableGetter& getter, std::string_view name, const Shape& shape,
                          const GetVariableOptions& options) {
    const nb::gil_scoped_acquire gil;
    const auto made = std::make_shared<Variable>();
    const nb::object get = nb::cpp_function([getter, options, made](const std::string& asked, nb::object sizes, nb::object dtype,
                                                                    nb::object initializer, bool trainable) {
      GetVariableOptions own = options;
      own.dtype = dtype_of_object(dtype);
      if (!initializer.is_none()) own.initializer = initializer_of(initializer);
      own.trainable = trainable;
      *made = getter(asked, shape_of_object(sizes), own);
      return wrap(*made);
    });
    const nb::object call = nb::module_::import_("systole_tpu.tensorflow._variables").attr("call_custom_getter");
    const nb::object result = call(held.get(), get, std::string(name), shape_object(shape), dtype_name(options.dtype),
                                   options.trainable);
    return nb::isinstance<VariableHandle>(result) ? variable_of(result) : made->with_value(output_of(result));
  };
}

std::vector<Operation> operations_of(nb::handle list) {
  std::vector<Operation> operations;
  for (nb::handle item : nb::borrow<nb::object>(list)) operations.push_back(operation_of(item));
  return operations;
}

Graph::Item item_of(nb::handle value) {
  if (nb::isinstance<VariableHandle>(value)) return nb::cast<const VariableHandle&>(value).variable;
  if (nb::isinstance<TensorHandle>(value)) return nb::cast<const TensorHandle&>(value).output;
  return operation_of(value);
}

nb::object collection_of(const Graph& graph, const std::string& key, const std::string& prefix) {
  nb::list all;
  for (const Variable& item : graph.collection<Variable>(key, prefix)) all.append(wrap(item));
  for (const Output& item : graph.collection<Output>(key, prefix)) all.append(wrap(item));
  for (const Operation& item : graph.collection<Operation>(key, prefix)) all.append(wrap(item));
  return all;
}

nb::object attr_object(const Node& node, const std::string& name) {
  const auto it = node.attrs().find(name);
  if (it == node.attrs().end()) throw nb::value_error(fmt::format("No attr named '{}'", name).c_str());
  return std::visit(
      [&]<class T>(const T& value) -> nb::object {
        if constexpr (std::is_same_v<T, DType>) {
          return nb::cast(dtype_name(value));
        } else if constexpr (std::is_same_v<T, Shape>) {
          return shape_object(value);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return array_of(value);
        } else if constexpr (std::is_same_v<T, FunctionRef>) {
          return nb::none();
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<std::string>>) {
          nb::list list;
          for (const auto& element : value) list.append(nb::cast(element));
          return list;
        } else {
          return nb::cast(value);
        }
      },
      static_cast<const AttrValue::variant&>(it->second));
}

std::string place_of(const Node& node) {
  return node.where().known() ? fmt::format("{}:{}", node.where().file, node.where().line) : "";
}

// Programs find a graph's variables and what sets them by the types of 1.15: a variable without use_resource is a
// VariableV2, and an Assign gives the variable that it sets.
std::string type_of(const Node& node) {
  if (node.op_name() == "VarHandleOp") return "VariableV2";
  return node.op_name() == "AssignVariableOp" ? "Assign" : std::string(node.op_name());
}

std::vector<Output> results_of(Node& node) {
  return node.op_name() == "AssignVariableOp" ? std::vector{node.input(0)} : node.outputs();
}

// What a handle is the handle of: equal ones are equal, as keys of a feed_dict.
size_t hash_of(const TensorHandle& t) { return std::hash<Output>()(t.output); }
size_t hash_of(const OperationHandle& o) { return std::hash<const void*>()(o.operation.node()); }
size_t hash_of(const VariableHandle& v) { return std::hash<Output>()(v.variable.handle()); }
bool same(const TensorHandle& a, const TensorHandle& b) { return a.output == b.output; }
bool same(const OperationHandle& a, const OperationHandle& b) { return a.operation == b.operation; }
bool same(const VariableHandle& a, const VariableHandle& b) { return a.variable == b.variable; }

template <class H>
Py_hash_t hash_slot(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(hash_of(*nb::inst_ptr<H>(nb::handle(self))));
  return hash == -1 ? -2 : hash;  // -1 is an error
}

template <class H>
PyObject* compare_slot(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) return Py_NewRef(Py_NotImplemented);
  const bool equal = nb::isinstance<H>(other) && same(*nb::inst_ptr<H>(nb::handle(self)), *nb::inst_ptr<H>(nb::handle(other)));
  return PyBool_FromLong(equal == (operation == Py_EQ) ? 1 : 0);
}

template <class H>
PyType_Slot handle_slots[] = {{Py_tp_hash, reinterpret_cast<void*>(hash_slot<H>)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(compare_slot<H>)},
                              {0, nullptr}};

void bind_tensor(nb::module_& m) {
  nb::class_<TensorHandle>(m, "Tensor", nb::type_slots(handle_slots<TensorHandle>))
      .def_prop_ro("name", [](const TensorHandle& t) { return t.output.name(); })
      .def_prop_ro("_dtype_name", [](const TensorHandle& t) { return dtype_name(t.output.dtype()); })
      .def_prop_ro("_dims", [](const TensorHandle& t) { return shape_object(t.output.shape()); })
      .def_prop_ro("op", [](const TensorHandle& t) { return wrap(Operation(t.output)); })
      .def_prop_ro("value_index", [](const TensorHandle& t) { return t.output.index(); })
      .def_prop_ro("graph", [](const TensorHandle& t) { return t.graph; })
      .def("set_shape",
           [](TensorHandle& t, nb::object shape) {
             if (shape.is_none()) return;
             building([&] {
               const Shape wanted = shape_of_object(shape);
               bool known = wanted == t.output.shape();
               if (!known) t.output = systole::set_shape(t.output, wanted);
             });
           });
  nb::class_<OperationHandle>(m, "Operation", nb::type_slots(handle_slots<OperationHandle>))
      .def_prop_ro("name", [](const OperationHandle& o) { return o.operation.name(); })
      .def_prop_ro("type", [](const OperationHandle& o) { return type_of(*o.operation.node()); })
      .def_prop_ro("inputs",
                   [](const OperationHandle& o) {
                     const auto inputs = o.operation.node()->inputs();
                     return wrap(std::vector<Output>(inputs.begin(), inputs.end()));
                   })
      .def_prop_ro("control_inputs",
                   [](const OperationHandle& o) {
                     nb::list all;
                     for (Node* node : o.operation.node()->control_inputs()) {
                       all.append(wrap(Operation(node)));
                     }
                     return all;
                   })
      .def_prop_ro("outputs", [](const OperationHandle& o) { return wrap(results_of(*o.operation.node())); })
      .def_prop_ro("graph", [](const OperationHandle& o) { return o.graph; })
      .def_prop_ro("_place", [](const OperationHandle& o) { return place_of(*o.operation.node()); })
      .def("get_attr", [](const OperationHandle& o, const std::string& name) {
        return attr_object(*o.operation.node(), name);
      });
}

void bind_variable(nb::module_& m) {
  const auto assign = [](Output (Variable::*method)(const Input&) const) {
    return [method](const VariableHandle& v, nb::handle value) {
      return building([&] { return wrap((v.variable.*method)(input_of(value, v.variable.dtype()))); });
    };
  };
  nb::class_<VariableHandle>(m, "Variable", nb::type_slots(handle_slots<VariableHandle>))
      .def_prop_ro("_core_name", [](const VariableHandle& v) { return v.variable.name(); })
      .def_prop_ro("_dtype_name", [](const VariableHandle& v) { return dtype_name(v.variable.dtype()); })
      .def_prop_ro("_dims", [](const VariableHandle& v) { return shape_object(v.variable.shape()); })
      .def_prop_ro("op", [](const VariableHandle& v) { return wrap(Operation(v.variable.handle())); })
      .def_prop_ro("handle", [](const VariableHandle& v) { return wrap(v.variable.handle()); })
      .def_prop_ro("graph", [](const VariableHandle& v) { return v.graph; })
      .def_prop_ro("initializer", [](const VariableHandle& v) { return wrap(v.variable.initializer()); })
      .def_prop_ro("initial_value", [](const VariableHandle& v) { return wrap(v.variable.initial_value()); })
      .def("value", [](const VariableHandle& v) { return wrap(v.variable.value()); })
      .def("read_value", [](const VariableHandle& v) { return building([&] { return wrap(v.variable.read_value()); }); })
      .def("_assign", assign(&Variable::assign))
      .def("_assign_add", assign(&Variable::assign_add))
      .def("_assign_sub", assign(&Variable::assign_sub));
  m.def("make_variable", make_variable);
  m.def("get_variable", make_get_variable);
  m.def("variables_initializer", [](nb::list variables, const std::string& name) {
    return building([&] {
      std::vector<Variable> all;
      for (nb::handle variable : variables) all.push_back(variable_of(variable));
      return wrap(variables_initializer(all, name));
    });
  });
  m.def("get_or_create_global_step", [] { return building([] { return wrap(get_or_create_global_step()); }); });
}

void bind_graph_class(nb::module_& m) {
  nb::class_<Graph>(m, "Graph", nb::dynamic_attr())
      .def(nb::new_([] { return std::make_shared<Graph>(); }))
      .def_prop_ro("version", [](const Graph& graph) { return graph.version(); })
      .def_prop_rw(
          "seed", [](const Graph& graph) -> nb::object {
            return graph.seed() ? nb::cast(*graph.seed()) : nb::none();
          },
          [](Graph& graph, nb::object seed) {
            graph.set_seed(seed.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(seed)));
          },
          nb::arg("seed").none())
      .def("_add_to_collection",
           [](Graph& graph, const std::string& key, nb::handle value) { graph.add_to_collection(key, item_of(value)); })
      .def("_get_collection", collection_of)
      .def("unique_name", [](Graph& graph, const std::string& base) { return graph.unique_name(base); })
      .def("get_operations",
           [](const Graph& graph) {
             nb::list all;
             for (const auto& node : graph.nodes()) all.append(wrap(Operation(node.get())));
             return all;
           })
      .def("_tensor", [](const Graph& graph, const std::string& name) {
        return building([&] { return wrap(graph.tensor(name)); });
      })
      .def("_operation",
           [](const Graph& graph, const std::string& name) -> nb::object {
             Node* node = graph.find_node(name);
             return node == nullptr ? nb::none() : wrap(Operation(node));
           })
      .def("_scope", [](std::shared_ptr<Graph> graph) {
        return scope([graph] {
          return std::shared_ptr<void>(new GraphScope(*graph), [graph](GraphScope* made) { delete made; });
        });
      });
  m.def("current_graph", [] { return owner_of(Graph::current()); });
  m.def("reset_default_graph", [] { building([] { reset_default_graph(); }); });
}

void bind_scopes(nb::module_& m) {
  nb::class_<Scope>(m, "Scope")
      .def("__enter__", [](Scope& scope) { scope.entered = building([&] { return scope.make(); }); })
      .def("__exit__", [](Scope& scope, nb::args) { scope.entered.reset(); });
  m.def("name_scope", [](const std::string& name) {
    return scope([name] { return std::make_shared<NameScope>(name); });
  });
  m.def("current_name_scope", [] { return Graph::current().name_scope(); });
  m.def("control_dependencies", [](nb::object list) {
    if (list.is_none()) return scope([] { return std::make_shared<ControlDependencies>(nullptr); });
    return scope([operations = operations_of(list)] { return std::make_shared<ControlDependencies>(operations); });
  });
  m.def("variable_scope", [](const std::string& name, const std::string& default_name, nb::object reuse,
                             nb::object initializer, nb::object dtype, nb::object custom_getter) {
    VariableScopeOptions options{.default_name = default_name,
                                 .reuse = reuse_of(reuse),
                                 .initializer = initializer_of(initializer),
                                 .dtype = dtype_of_object(dtype),
                                 .custom_getter = custom_getter_of(custom_getter)};
    return scope([name, options] { return std::make_shared<VariableScope>(name, options); });
  });
  m.def("bfloat16_scope", [](const std::string& name) {
    return scope([name] { return std::make_shared<Bfloat16Scope>(name); });
  });
  m.def("entered_variable_scope", [](const Scope& scope) {
    return static_cast<const VariableScope*>(scope.entered.get())->name();
  });
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_scopes(m);
  bind_tensor(m);
  bind_variable(m);
  bind_graph_class(m);
  m.def("create_op", create_op);
  m.def("ops", [] {
    nb::list all;
    for (const OpDef* op : all_op_defs()) all.append(describe(*op));
    return all;
  });
  m.def("constant", [](nb::handle value, nb::object dtype, nb::object shape, const std::string& name) {
    return building([&] {
      const DType wanted = dtype_of_object(dtype);
      ConstantOptions options{.dtype = wanted, .name = name};
      if (!shape.is_none()) options.shape = shape_of_object(shape);
      return wrap(constant(Input(tensor_of(value, wanted)), options));
    });
  });
  m.def("convert_to_tensor", [](nb::handle value, nb::object dtype) {
    return building([&] { return wrap(output_of(value, dtype_of_object(dtype))); });
  });
  m.def("group", [](nb::object list, const std::string& name) {
    return building([&] { return wrap(group(operations_of(list), name)); });
  });
  m.def("gradients", [](nb::list ys, nb::list xs, nb::list grad_ys, nb::list stop) {
    return building([&] {
      std::vector<Output> outputs;
      std::vector<Output> inputs;
      GradientsOptions options;
      for (nb::handle y : ys) outputs.push_back(output_of(y));
      for (nb::handle y : grad_ys) options.grad_ys.push_back(y.is_none() ? Output() : output_of(y));
      for (nb::handle y : stop) options.stop_gradients.push_back(output_of(y));
      bool variables = xs.size() > 0;
      for (nb::handle x : xs) variables = variables && nb::isinstance<VariableHandle>(x);
      if (variables) {
        std::vector<Variable> all;
        for (nb::handle x : xs) all.push_back(variable_of(x));
        return wrap(gradients(outputs, all, options));
      }
      for (nb::handle x : xs) inputs.push_back(output_of(x));
      return wrap(gradients(outputs, inputs, options));
    });
  });
}

}  // namespace systole::python
