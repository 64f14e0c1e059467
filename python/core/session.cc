// Sessions, and what works on their variables: savers, summaries of runs, TPU names.
#include "systole/session/session.h"

#include "bindings.h"
#include "session_handle.h"
#include "systole/cluster/tpu_cluster_resolver.h"
#include "systole/session/targets/target.h"
#include "systole/train/file_writer.h"
#include "systole/train/saver.h"
#include "systole/train/summary.h"
#include "values.h"

namespace systole::python {

Fetch fetch_of(nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) return nb::cast<const TensorHandle&>(value).output;
  if (nb::isinstance<VariableHandle>(value)) return nb::cast<const VariableHandle&>(value).variable;
  return operation_of(value);
}

Output key_of(nb::handle key) {
  if (nb::isinstance<TensorHandle>(key)) return nb::cast<const TensorHandle&>(key).output;
  if (nb::isinstance<VariableHandle>(key)) return nb::cast<const VariableHandle&>(key).variable.value();
  throw nb::type_error(fmt::format("The feed_dict key {} cannot be interpreted as a Tensor", nb::repr(key).c_str()).c_str());
}

Tensor feed_of(nb::handle value, const Output& key, Keep& keep) {
  if (symbolic_dtype(value) != DType::invalid) {
    throw nb::type_error(
        "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
        "lists, numpy ndarrays, or TensorHandles.");
  }
  const Tensor tensor = tensor_of(value, key.dtype(), &keep);
  if (!tensor.shape().compatible_with(key.shape())) {
    throw nb::value_error(fmt::format("Cannot feed value of shape {} for Tensor '{}', which has shape '{}'",
                                      tensor.shape(), key.name(), key.shape())
                              .c_str());
  }
  return tensor;
}

namespace {

// Frees sessions without the GIL: threads of data sets that it ends may wait for it.
std::shared_ptr<Session> make_session(std::string_view target, const SessionConfig& config) {
  const nb::gil_scoped_release unlocked;
  return {new Session(target, config), [](Session* session) {
            if (Py_IsInitialized() && PyGILState_Check()) {
              const nb::gil_scoped_release free;
              delete session;
            } else {
              delete session;
            }
          }};
}

nb::list run(SessionHandle& handle, nb::list fetches, nb::dict feeds) {
  RunArguments arguments;
  for (nb::handle fetch : fetches) arguments.fetches.push_back(nb::borrow(fetch));
  for (auto [key, value] : feeds) arguments.feeds.emplace_back(nb::borrow(key), nb::borrow(value));
  handle.runs.ranks().apply(arguments);
  std::vector<Fetch> wanted;
  wanted.reserve(arguments.fetches.size());
  for (const nb::object& fetch : arguments.fetches) wanted.push_back(fetch_of(fetch));
  Keep keep;
  FeedDict items;
  items.reserve(arguments.feeds.size());
  for (const auto& [key, value] : arguments.feeds) {
    const Output output = key_of(key);
    items.emplace_back(output, FeedValue(feed_of(value, output, keep)));
  }
  std::vector<Tensor> results;
  {
    const std::shared_ptr<Session> session = handle.open();
    const nb::gil_scoped_release unlocked;
    results = session->run(std::span<const Fetch>(wanted), std::span<const FeedItem>(items));
  }
  nb::list values;
  for (const Tensor& result : results) {
    values.append(array_of(result.valid() && keep.holds(result) ? result.clone() : result));
  }
  return values;
}

template <class F>
auto without_gil(F&& f) {
  const nb::gil_scoped_release unlocked;
  return f();
}

void bind_saver(nb::module_& m) {
  nb::class_<Saver>(m, "Saver")
      .def("save",
           [](Saver& saver, SessionHandle& session, const std::string& path, nb::object step) {
             SaveOptions options;
             if (!step.is_none()) options.global_step = nb::cast<int64_t>(nb::int_(step));
             const std::shared_ptr<Session> open = session.open();
             return without_gil([&] { return saver.save(*open, path, options); });
           })
      .def("restore",
           [](Saver& saver, SessionHandle& session, const std::string& prefix) {
             const std::shared_ptr<Session> open = session.open();
             without_gil([&] { saver.restore(*open, prefix); });
           })
      .def_prop_ro("last_checkpoints", [](const Saver& saver) {
        nb::list all;
        for (const std::string& prefix : saver.last_checkpoints()) all.append(prefix);
        return all;
      });
  m.def("make_saver", [](nb::object variables, int max_to_keep, double hours) {
    return building([&] {
      SaverOptions options{.max_to_keep = max_to_keep, .keep_checkpoint_every_n_hours = hours};
      if (PyDict_Check(variables.ptr())) {
        for (auto [name, variable] : nb::borrow<nb::dict>(variables)) {
          options.named.emplace(nb::cast<std::string>(name), variable_of(variable));
        }
      } else if (!variables.is_none()) {
        for (nb::handle variable : variables) options.var_list.push_back(variable_of(variable));
      }
      return std::make_unique<Saver>(options);
    });
  });
  m.def("latest_checkpoint", [](const std::string& folder) { return latest_checkpoint(folder); });
}

void bind_summaries(nb::module_& m) {
  m.def("summary", [](const std::string& kind, const std::string& name, nb::handle value, int max_outputs,
                      nb::list collections, const std::string& family) {
    return building([&] {
      summary::Options options{.family = family};
      for (nb::handle key : collections) options.collections.push_back(nb::cast<std::string>(key));
      const Input input = input_of(value);
      if (kind == "scalar") return wrap(summary::scalar(name, input, options));
      if (kind == "histogram") return wrap(summary::histogram(name, input, options));
      if (kind == "text") return wrap(summary::text(name, input, options));
      return wrap(summary::image(
          name, input, {.max_outputs = max_outputs, .collections = options.collections, .family = family}));
    });
  });
  m.def("merge_summaries", [](nb::list inputs) {
    return building([&] {
      std::vector<Output> all;
      for (nb::handle input : inputs) all.push_back(output_of(input));
      return wrap(summary::merge(InputList(all)));
    });
  });
  m.def("merge_all_summaries", [](const std::string& key) {
    return building([&] { return wrap(summary::merge_all(key)); });
  });
  nb::class_<summary::FileWriter>(m, "FileWriter")
      .def("add_summary",
           [](summary::FileWriter& writer, nb::handle value, int64_t step) {
             const Tensor tensor = tensor_of(value);
             without_gil([&] { writer.add_summary(tensor, step); });
           })
      .def("add_graph", [](summary::FileWriter& writer, const Graph& graph, int64_t step) { writer.add_graph(graph, step); })
      .def("flush", [](summary::FileWriter& writer) { without_gil([&] { writer.flush(); }); })
      .def("close", [](summary::FileWriter& writer) { without_gil([&] { writer.close(); }); });
  m.def("make_file_writer", [](const std::string& folder, nb::object graph, const std::string& suffix) {
    const Graph* written = graph.is_none() ? nullptr : nb::cast<Graph*>(graph);
    return std::make_unique<summary::FileWriter>(folder, written,
                                                 summary::FileWriterOptions{.filename_suffix = suffix});
  });
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::class_<SessionHandle>(m, "Session")
      .def("run", run)
      .def("run_plain", [](SessionHandle& handle, nb::handle fetches, nb::handle feeds) { return handle.runs.run(fetches, feeds); })
      .def("close", [](SessionHandle& handle) { handle.close(); })
      .def_prop_ro("graph", [](const SessionHandle& handle) { return handle.graph; })
      .def_prop_ro("target", [](const SessionHandle& handle) { return handle.target; })
      .def("is_initialized",
           [](SessionHandle& handle, nb::handle variable) { return handle.open()->is_initialized(variable_of(variable)); })
      .def("variable_value",
           [](SessionHandle& handle, nb::handle variable) {
             const Variable wanted = variable_of(variable);
             const std::shared_ptr<Session> session = handle.open();
             return array_of(without_gil([&] { return session->variable_value(wanted); }));
           })
      .def("set_variable", [](SessionHandle& handle, nb::handle variable, nb::handle value) {
        const Variable wanted = variable_of(variable);
        const Tensor tensor = tensor_of(value, wanted.dtype());
        const std::shared_ptr<Session> session = handle.open();
        without_gil([&] { session->set_variable(wanted, tensor); });
      });
  m.def("make_session", [](const std::string& target, nb::object graph, int threads) {
    std::shared_ptr<Graph> owned =
        graph.is_none() ? owner_of(Graph::current()) : nb::cast<std::shared_ptr<Graph>>(graph);
    const SessionConfig config{.graph = owned.get(), .num_threads = threads};
    return SessionHandle(owned, make_session(target, config));
  });
  // ((kind, bytes of memory or 0), ...) of what a target computes on: "TPU" or "CPU".
  m.def("devices", [](const std::string& target) {
    std::vector<int64_t> memory;
    bool is_tpu = false;
    {
      const nb::gil_scoped_release unlocked;
      const Target found = resolve_target(target, "");
      is_tpu = found.environment.is_tpu;
      for (const runtime::Device& device : found.client->devices()) memory.push_back(device.memory_bytes);
    }
    nb::list all;
    for (const int64_t bytes : memory) all.append(nb::make_tuple(is_tpu ? "TPU" : "CPU", bytes));
    return all;
  });
  bind_saver(m);
  bind_summaries(m);
  m.def("find_tpu", [](const std::string& tpu) {
    return TPUClusterResolver(TPUClusterResolverOptions{.tpu = tpu}).get_master();
  });
}

}  // namespace systole::python
