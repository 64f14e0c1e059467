// tf.saved_model: graphs with their variables, written from sessions and loaded into them.
#include "bindings.h"
#include "session_handle.h"
#include "systole/base/file_system.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/checkpoint_match.h"
#include "systole/train/saved_model_builder.h"

namespace systole::python {
namespace {

std::map<std::string, Output> named_outputs(nb::handle dict) {
  std::map<std::string, Output> all;
  for (auto [name, tensor] : nb::borrow<nb::dict>(dict)) all.emplace(nb::cast<std::string>(name), output_of(tensor));
  return all;
}

std::vector<std::string> texts_of(nb::handle list) {
  std::vector<std::string> all;
  for (nb::handle text : nb::borrow<nb::object>(list)) all.push_back(nb::cast<std::string>(nb::str(text)));
  return all;
}

// ((name, {key: tensor name}, {key: tensor name}, method), ...).
nb::list signatures_object(const MetaGraphInfo& info) {
  const auto names = [](const std::map<std::string, TensorInfo>& tensors) {
    nb::dict all;
    for (const auto& [key, tensor] : tensors) all[key.c_str()] = tensor.name;
    return all;
  };
  nb::list all;
  for (const auto& [name, signature] : info.signatures) {
    all.append(nb::make_tuple(name, names(signature.inputs), names(signature.outputs), signature.method_name));
  }
  return all;
}

nb::list load(SessionHandle& handle, const std::vector<std::string>& tags, const std::string& folder) {
  FileSystem& files = default_file_system();
  const SavedModelFile file(files, folder);
  const size_t index = file.find(tags);
  const GraphScope scope(*handle.graph);
  // What the signatures need, and not the nodes that TensorFlow saves and restores with.
  ImportOptions import{.asset_folder = join_path(folder, "assets"), .allow_files = true, .what = file.path()};
  for (const auto& [name, signature] : file.meta_graphs()[index].signatures) {
    for (const auto& [key, input] : signature.inputs) {
      if (import.inputs.contains(input.name)) continue;
      const std::string node = input.name.substr(0, input.name.find(':'));
      import.inputs[input.name] = placeholder(input.dtype, input.shape.value_or(Shape()), node);
    }
    for (const auto& [key, output] : signature.outputs) import.outputs.push_back(output.name);
  }
  const ImportedGraph imported = import_graph_def(file.message(index).graph_def(), import);
  if (!imported.variables.empty()) {
    CheckpointMatch match;
    for (const auto& [key, variable] : imported.variables) match.add(key, variable);
    const std::shared_ptr<Session> session = handle.open();
    const nb::gil_scoped_release unlocked;
    match.restore(*session, BundleReader(files, saved_model_variables(folder)));
  }
  return signatures_object(file.meta_graphs()[index]);
}

}  // namespace

void bind_saved_models(nb::module_& m) {
  // `signatures`: ((name, inputs, outputs, method), ...).
  m.def("export_saved_model", [](SessionHandle& session, const std::string& folder, nb::handle signatures, nb::handle tags) {
    building([&] {
      ExportOptions options{.tags = texts_of(tags)};
      for (nb::handle signature : nb::borrow<nb::object>(signatures)) {
        options.signatures[nb::cast<std::string>(signature[0])] = {.inputs = named_outputs(signature[1]),
                                                                  .outputs = named_outputs(signature[2]),
                                                                  .method_name = nb::cast<std::string>(signature[3])};
      }
      const std::shared_ptr<Session> open = session.open();
      const nb::gil_scoped_release unlocked;
      export_saved_model(*open, folder, options);
    });
  });
  m.def("load_saved_model", [](SessionHandle& session, nb::handle tags, const std::string& folder) {
    return building([&] { return load(session, texts_of(tags), folder); });
  });
  // The bytes of a GraphDef.
  m.def("graph_def", [](const Graph& graph) {
    const std::string bytes = building([&] { return graph_def_bytes(graph); });
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("write_graph", [](const Graph& graph, const std::string& path) { building([&] { write_graph_def(graph, path); }); });
  m.def("import_graph_def", [](nb::bytes bytes, nb::dict inputs, nb::handle outputs) {
    return building([&] {
      ImportOptions options{.allow_files = true};
      for (auto [name, tensor] : inputs) {
        std::string key = nb::cast<std::string>(name);
        if (key.find(':') == std::string::npos) key += ":0";
        options.inputs.emplace(key, output_of(tensor));
      }
      options.outputs = texts_of(outputs);
      return wrap(import_graph_def(std::string_view(bytes.c_str(), bytes.size()), options).outputs);
    });
  });
}

}  // namespace systole::python
