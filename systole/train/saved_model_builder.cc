#include "systole/train/saved_model_builder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "systole/base/log.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/wire/checksum_trailer.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/stablehlo/text/text.h"
#include "systole/train/meta_graph.h"
#include "systole/train/saver_nodes.h"

namespace systole {
namespace {

std::vector<Operation> signature_operations(const ExportOptions& options) {
  std::vector<Operation> operations;
  for (const auto& [name, signature] : options.signatures) {
    for (const auto& [key, output] : signature.outputs) operations.emplace_back(output);
    for (const auto& [key, output] : signature.inputs) operations.emplace_back(output);
  }
  return operations;
}

// Returns the variables that the nodes use, in the order of the graph.
std::vector<Variable> variables_of(const Graph& graph, const tensorflow::GraphDef& message) {
  std::vector<Variable> used;
  for (const auto key : {graph_keys::global_variables, graph_keys::local_variables}) {
    for (const Variable& variable : graph.collection<Variable>(key)) {
      const bool needed = std::ranges::any_of(
          message.node(), [&](const auto& node) { return node.name() == variable.name(); });
      if (needed && std::ranges::find(used, variable) == used.end()) used.push_back(variable);
    }
  }
  for (const tensorflow::NodeDef& node : message.node()) {
    const bool known = std::ranges::any_of(
        used, [&](const Variable& variable) { return variable.name() == node.name(); });
    if (node.op() == "VarHandleOp" && !known) {
      throw failed_precondition(
          "export_saved_model: variable, got '{}' of neither the global nor the local variables, "
          "expected one of them",
          node.name());
    }
  }
  return used;
}

void write_tensor_info(const Output& output, tensorflow::TensorInfo& message) {
  message.set_name(output.name());
  message.set_dtype(static_cast<tensorflow::DataType>(dtype_to_message(output.dtype())));
  shape_to_message(output.shape(), *message.mutable_tensor_shape());
}

void write_signatures(const ExportOptions& options, tensorflow::MetaGraphDef& message) {
  for (const auto& [name, signature] : options.signatures) {
    auto& to = (*message.mutable_signature_def())[name];
    to.set_method_name(signature.method_name);
    for (const auto& [key, tensor] : signature.inputs) {
      write_tensor_info(tensor, (*to.mutable_inputs())[key]);
    }
    for (const auto& [key, tensor] : signature.outputs) {
      write_tensor_info(tensor, (*to.mutable_outputs())[key]);
    }
  }
}

// "vocab.txt" of a path; "vocab_1.txt" when another file has that name.
std::string asset_name(const std::string& path, const std::map<std::string, std::string>& assets) {
  const std::string base = path.substr(path.rfind('/') + 1);
  const size_t dot = std::min(base.rfind('.'), base.size());
  std::string name = base;
  for (int i = 1; assets.contains(name) && assets.at(name) != path; ++i) {
    name = fmt::format("{}_{}{}", base.substr(0, dot), i, base.substr(dot));
  }
  return name;
}

// Files that nodes read. Whoever loads the model gives the Const of each the path in assets/.
void add_assets(const std::map<std::string, std::string>& files, tensorflow::MetaGraphDef& meta,
                std::map<std::string, std::string>& assets) {
  for (const auto& [node, path] : files) {
    const std::string name = asset_name(path, assets);
    assets[name] = path;
    tensorflow::AssetFileDef& asset = *meta.add_asset_file_def();
    asset.mutable_tensor_info()->set_name(node + ":0");
    asset.set_filename(name);
    *(*meta.mutable_collection_def())["asset_filepaths"].mutable_node_list()->add_value() =
        node + ":0";
  }
}

// The op that a loader runs first.
void add_table_initializers(const std::vector<std::string>& initializers,
                            tensorflow::MetaGraphDef& meta) {
  if (initializers.empty()) return;
  constexpr std::string_view kMainOp = "saved_model_main_op";
  tensorflow::NodeDef& main_op = *meta.mutable_graph_def()->add_node();
  main_op.set_name(std::string(kMainOp));
  main_op.set_op("NoOp");
  auto& collections = *meta.mutable_collection_def();
  for (const std::string& name : initializers) {
    *main_op.add_input() = "^" + name;
    collections["table_initializer"].mutable_node_list()->add_value(name);
  }
  collections[std::string(kMainOp)].mutable_node_list()->add_value(main_op.name());
}

std::string model_bytes(const Graph& graph, const ExportOptions& options,
                        std::vector<Variable>& variables,
                        std::map<std::string, std::string>& assets) {
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(1);
  tensorflow::MetaGraphDef& meta = *model.add_meta_graphs();
  for (const std::string& tag : options.tags) meta.mutable_meta_info_def()->add_tags(tag);
  set_writer(meta);
  std::vector<Operation> wanted = signature_operations(options);
  variables = variables_of(graph, *to_graph_def(graph, wanted));
  for (const Variable& variable : variables) {
    wanted.push_back(variable.initializer());
    wanted.emplace_back(variable.value());
  }
  std::vector<Output> results;
  for (const auto& [name, signature] : options.signatures) {
    for (const auto& [key, output] : signature.outputs) results.push_back(output);
  }
  const auto unknown = ops_unknown_to_tensorflow(graph, wanted, results);
  if (!unknown.empty()) {
    throw unimplemented("export_saved_model: ops, got {}, expected ones that TensorFlow has",
                        fmt::join(unknown, ", "));
  }
  const ExportedGraph exported = export_graph_def(graph, wanted);
  meta.mutable_graph_def()->Swap(exported.message.get());
  add_assets(exported.assets, meta, assets);
  add_table_initializers(exported.initializers, meta);
  if (!variables.empty()) add_saver_nodes(variables, meta);
  write_signatures(options, meta);
  add_variable_collections(graph, variables, meta);
  for (const auto& [name, path] : options.assets) meta.add_asset_file_def()->set_filename(name);
  std::string bytes = serialize_message(model);
  append_checksum_trailer(bytes, kSavedModelChecksumMark);
  return bytes;
}

// Replaces unknown dimensions, which are batch sizes, by `batch`.
TensorType fixed_type(const Output& output, int64_t batch) {
  TensorType type = output.type();
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    if (type.shape[axis] == kUnknown) type.shape.set_dim(axis, batch);
  }
  return type;
}

// Returns "" for a signature with strings, which device programs cannot take.
std::string mlir_text(const Graph& graph, const SignatureTensors& signature, int64_t batch) {
  std::vector<Feed> feeds;
  std::vector<Output> fetches;
  std::string about;
  for (const auto& [key, output] : signature.inputs) {
    feeds.push_back({output, fixed_type(output, batch)});
    about += fmt::format("// input {}: {}\n", key, feeds.back().type);
  }
  for (const auto& [key, output] : signature.outputs) {
    fetches.push_back(output);
    about += fmt::format("// output {}\n", key);
  }
  try {
    const SpecializedProgram program = specialize(graph, fetches, {}, feeds);
    std::string variables;
    for (const Node* variable : program.variables) {
      variables += fmt::format("// variable {}\n", variable->name());
    }
    return "// Parameters of main are the variables, then the inputs; results are the outputs.\n" +
           variables + about + hlo::print(*program.module, {.pretty = true});
  } catch (const Error& error) {
    log_info("export_saved_model: no model.mlir: {}", error.message());
    return "";
  }
}

void write_variables(Session& session, FileSystem& file_system, const std::string& directory,
                     std::vector<Variable> variables) {
  file_system.make_directories(join_path(directory, "variables"));
  std::ranges::sort(variables, {}, [](const Variable& v) { return v.name(); });
  BundleWriter writer(file_system, saved_model_variables(directory));
  for (const Variable& variable : variables) {
    writer.add(variable.name(), session.variable_value(variable));
  }
  writer.finish();
}

void copy_assets(FileSystem& file_system, const std::string& directory,
                 const std::map<std::string, std::string>& assets) {
  if (assets.empty()) return;
  file_system.make_directories(join_path(directory, "assets"));
  for (const auto& [name, path] : assets) {
    write_file_atomically(file_system, join_path(directory, "assets/" + name),
                          read_file(file_system, path));
  }
}

}  // namespace

void export_saved_model(Session& session, const std::string& directory,
                        const ExportOptions& options) {
  FileSystem& files = file_system_or_default(options.file_system);
  const std::string model_path = join_path(directory, "saved_model.pb");
  if (options.signatures.empty()) {
    throw invalid_argument("export_saved_model: signatures, got none, expected one or more");
  }
  if (files.exists(model_path)) {
    throw make_error(Code::already_exists,
                     "{}: export, got a directory with a SavedModel, expected a new one",
                     directory);
  }
  std::vector<Variable> variables;
  std::map<std::string, std::string> assets = options.assets;
  const std::string bytes = model_bytes(session.graph(), options, variables, assets);
  files.make_directories(directory);
  if (!variables.empty()) write_variables(session, files, directory, variables);
  copy_assets(files, directory, assets);
  auto signature = options.signatures.find(std::string(kDefaultServingSignature));
  if (signature == options.signatures.end()) signature = options.signatures.begin();
  const std::string mlir = mlir_text(session.graph(), signature->second, options.mlir_batch_size);
  if (!mlir.empty()) write_file_atomically(files, join_path(directory, "model.mlir"), mlir);
  write_file_atomically(files, model_path, bytes);
}

std::string timestamped_export_directory(FileSystem& file_system, const std::string& base,
                                         Clock& clock) {
  int64_t number =
      std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch()).count();
  while (file_system.exists(join_path(base, std::to_string(number)))) ++number;
  return join_path(base, std::to_string(number));
}

}  // namespace systole
