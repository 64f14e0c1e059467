// Functions of functions: branches, loops, maps over rows, and functions of Python as ops.
#include "bindings.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/py_func.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/graph/functions/tpu_replicate.h"
#include "systole/graph/gradients/recompute_grad.h"
#include "values.h"

namespace systole::python {
namespace {

std::vector<Output> list_of(nb::handle values) {
  std::vector<Output> outputs;
  for (nb::handle value : nb::borrow<nb::object>(values)) outputs.push_back(output_of(value));
  return outputs;
}

// Functions of Python take and return lists of tensors; those of C++ call them while building.
auto branch(nb::object f) {
  return [f] { return list_of(f()); };
}
auto step(nb::object f) {
  return [f](const std::vector<Output>& values) { return list_of(f(wrap(values))); };
}

nb::object py_func_object(nb::object f, nb::list inputs, nb::list types, const std::string& name) {
  return building([&] {
    std::vector<TensorType> outputs;
    for (nb::handle type : types) outputs.push_back({dtype_of_object(type[0]), shape_of_object(type[1])});
    HostFn call = [held = Held(f), outputs](std::span<const Tensor> values) {
      const nb::gil_scoped_acquire gil;
      nb::list arguments;
      for (const Tensor& value : values) arguments.append(array_of(value.clone()));
      nb::list results = nb::cast<nb::list>(held.get()(arguments));
      std::vector<Tensor> tensors;
      for (size_t i = 0; i < results.size(); ++i) tensors.push_back(tensor_of(results[i], outputs.at(i).dtype));
      return tensors;
    };
    return wrap(py_func(std::move(call), InputList(list_of(inputs)), outputs, {.name = name}));
  });
}

// -- Computations on the cores of a TPU.

tpu::Computation computation_of(nb::object fn) {
  return [fn](const std::vector<Output>& inputs) { return list_of(fn(wrap(inputs))); };
}

void bind_tpu_functions(nb::module_& m) {
  m.def("tpu_replicate", [](nb::object fn, nb::list inputs, const std::string& name) {
    return building([&] {
      std::vector<std::vector<Output>> all;
      for (nb::handle replica : inputs) all.push_back(list_of(replica));
      nb::list results;
      for (const std::vector<Output>& replica : tpu::replicate(computation_of(fn), all, {.name = name})) {
        results.append(wrap(replica));
      }
      return results;
    });
  });
  m.def("tpu_shard", [](nb::object fn, nb::list inputs, int num_shards, nb::handle input_axes, bool from_all, nb::handle output_axes) {
    return building([&] {
      return wrap(tpu::shard(computation_of(fn), list_of(inputs),
                             {.num_shards = num_shards,
                              .input_shard_axes = integers_of(input_axes),
                              .outputs_from_all_shards = from_all,
                              .output_shard_axes = integers_of(output_axes)}));
    });
  });
  m.def("tpu_repeat", [](int64_t n, nb::object body, nb::list inputs) {
    return building([&] { return wrap(tpu::repeat(n, LoopBodyFn(step(body)), InputList(list_of(inputs)))); });
  });
  m.def("tpu_outside_compilation", [](nb::object fn) {
    return building([&] { return wrap(tpu::outside_compilation(branch(fn))); });
  });
}

}  // namespace

void bind_control_flow(nb::module_& m) {
  m.def("cond", [](nb::handle pred, nb::object true_fn, nb::object false_fn, const std::string& name) {
    return building([&] {
      return wrap(cond(input_of(pred), BranchFn(branch(true_fn)), BranchFn(branch(false_fn)), {.name = name}));
    });
  });
  m.def("while_loop", [](nb::object condition, nb::object body, nb::list loop_vars, nb::object limit, const std::string& name) {
    return building([&] {
      WhileLoopOptions options{.name = name.empty() ? "while" : name};
      if (!limit.is_none()) options.maximum_iterations = nb::cast<int64_t>(nb::int_(limit));
      const LoopConditionFn test = [condition](const std::vector<Output>& values) {
        return output_of(condition(wrap(values)));
      };
      return wrap(while_loop(test, step(body), InputList(list_of(loop_vars)), options));
    });
  });
  m.def("map_fn", [](nb::object fn, nb::list elems, const std::string& name) {
    return building([&] {
      return wrap(map_fn(MapFn(step(fn)), InputList(list_of(elems)), {.name = name.empty() ? "map" : name}));
    });
  });
  m.def("scan", [](nb::object fn, nb::list elems, nb::list initializer, bool reverse, const std::string& name) {
    return building([&] {
      const ScanFn call = [fn](const std::vector<Output>& state, const std::vector<Output>& elements) {
        return list_of(fn(wrap(state), wrap(elements)));
      };
      const Scan result = scan(call, InputList(list_of(elems)), InputList(list_of(initializer)),
                               {.reverse = reverse, .name = name.empty() ? "scan" : name});
      return nb::make_tuple(wrap(result.stacked), wrap(result.last));
    });
  });
  m.def("py_func", py_func_object);
  bind_tpu_functions(m);
  // fn(list) -> list, whose values are computed again for its gradients.
  m.def("recompute_grad", [](nb::object fn, nb::list inputs) {
    return building([&] {
      const std::function<std::vector<Output>(const std::vector<Output>&)> call = step(fn);
      return wrap(recompute_grad(call)(InputList(list_of(inputs))));
    });
  });
}

}  // namespace systole::python
