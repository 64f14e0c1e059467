#include "systole/io/saved_models/saved_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/wire/checksum_trailer.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

constexpr int64_t kSchemaVersion = 1;

TensorInfo tensor_info(const std::string& what, const tensorflow::TensorInfo& message) {
  return {.name = message.name(),
          .dtype_name = data_type_name(message.dtype()),
          .dtype = dtype_from_message(message.dtype()),
          .shape = shape_from_message(what, message.tensor_shape())};
}

SignatureInfo signature_info(const std::string& what, const tensorflow::SignatureDef& message) {
  SignatureInfo info{.method_name = message.method_name()};
  for (const auto& [key, tensor] : message.inputs()) info.inputs[key] = tensor_info(what, tensor);
  for (const auto& [key, tensor] : message.outputs()) info.outputs[key] = tensor_info(what, tensor);
  return info;
}

// TensorFlow 1 writes the assets of a graph into a collection alone.
void add_assets_of_collection(const std::string& path, tensorflow::MetaGraphDef& message) {
  const auto collection = message.collection_def().find("saved_model_assets");
  if (collection == message.collection_def().end()) return;
  for (const auto& item : collection->second.any_list().value()) {
    tensorflow::AssetFileDef asset;
    parse_message(fmt::format("{}: collection 'saved_model_assets'", path), item.value(), asset);
    const bool known = std::ranges::any_of(message.asset_file_def(), [&](const auto& other) {
      return other.tensor_info().name() == asset.tensor_info().name() &&
             other.filename() == asset.filename();
    });
    if (!known) message.add_asset_file_def()->Swap(&asset);
  }
}

}  // namespace

GraphInfo graph_info(const tensorflow::GraphDef& graph) {
  GraphInfo info{.nodes = graph.node_size(),
                 .functions = graph.library().function_size(),
                 .producer = graph.versions().producer()};
  for (const tensorflow::NodeDef& node : graph.node()) {
    ++info.ops[node.op()];
    if (node.op() == "Placeholder") info.inputs.push_back(node.name());
  }
  return info;
}

MetaGraphInfo meta_graph_info(const std::string& path, const tensorflow::MetaGraphDef& message) {
  const auto& meta = message.meta_info_def();
  MetaGraphInfo info{.tags = {meta.tags().begin(), meta.tags().end()},
                     .tensorflow_version = meta.tensorflow_version(),
                     .writer = meta.tensorflow_git_version(),
                     .graph = graph_info(message.graph_def()),
                     .object_graph_nodes = message.object_graph_def().nodes_size()};
  for (const auto& [name, signature] : message.signature_def()) {
    info.signatures[name] =
        signature_info(fmt::format("{}: signature '{}'", path, name), signature);
  }
  for (const auto& [name, collection] : message.collection_def()) info.collections.push_back(name);
  std::ranges::sort(info.collections);
  for (const auto& asset : message.asset_file_def()) info.assets.push_back(asset.filename());
  if (message.has_saver_def()) {
    const tensorflow::SaverDef& saver = message.saver_def();
    info.saver = SaverInfo{.filename_tensor = saver.filename_tensor_name(),
                           .save_tensor = saver.save_tensor_name(),
                           .restore_op = saver.restore_op_name(),
                           .sharded = saver.sharded(),
                           .version = saver.version()};
  }
  return info;
}

SavedModelFile::SavedModelFile(FileSystem& file_system, const std::string& directory)
    : path_(join_path(directory, "saved_model.pb")) {
  if (!file_system.exists(path_)) path_ += "txt";
  if (!file_system.exists(path_)) {
    throw not_found("{}: SavedModel, got a directory without saved_model.pb, expected one",
                    directory);
  }
  parse(read_file(file_system, path_));
}

SavedModelFile::SavedModelFile(const std::string& path, std::string_view bytes) : path_(path) {
  parse(bytes);
}

SavedModelFile::~SavedModelFile() = default;
SavedModelFile::SavedModelFile(SavedModelFile&&) noexcept = default;

void SavedModelFile::parse(std::string_view bytes) {
  message_ = std::make_unique<tensorflow::SavedModel>();
  if (path_.ends_with(".pbtxt")) {
    parse_message_text(path_, bytes, *message_);
  } else {
    parse_message(path_, checked_without_trailer(path_, bytes, kSavedModelChecksumMark), *message_);
  }
  if (message_->meta_graphs_size() == 0) {
    throw make_error(Code::data_loss, "{}: SavedModel, got no graph, expected at least one", path_);
  }
  if (schema_version() != kSchemaVersion) {
    throw unimplemented("{}: schema version, got {}, expected {}", path_, schema_version(),
                        kSchemaVersion);
  }
  for (auto& meta_graph : *message_->mutable_meta_graphs()) {
    add_assets_of_collection(path_, meta_graph);
    infos_.push_back(meta_graph_info(path_, meta_graph));
  }
}

int64_t SavedModelFile::schema_version() const { return message_->saved_model_schema_version(); }

size_t SavedModelFile::find(const std::vector<std::string>& tags) const {
  const auto sorted = [](std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  };
  for (size_t i = 0; i < infos_.size(); ++i) {
    if (sorted(infos_[i].tags) == sorted(tags)) return i;
  }
  std::vector<std::string> there;
  for (const MetaGraphInfo& info : infos_) {
    there.push_back(fmt::format("{{{}}}", fmt::join(info.tags, ", ")));
  }
  throw not_found("{}: graph with tags {{{}}}, got none, expected one of {}", path_,
                  fmt::join(tags, ", "), fmt::join(there, ", "));
}

const tensorflow::MetaGraphDef& SavedModelFile::message(size_t index) const {
  return message_->meta_graphs(static_cast<int>(index));
}

std::string saved_model_variables(const std::string& directory) {
  return join_path(directory, "variables/variables");
}

std::unique_ptr<tensorflow::GraphDef> read_graph_def(FileSystem& file_system,
                                                     const std::string& path) {
  auto graph = std::make_unique<tensorflow::GraphDef>();
  const std::string bytes = read_file(file_system, path);
  if (path.ends_with(".meta")) {
    tensorflow::MetaGraphDef meta_graph;
    parse_message(path, bytes, meta_graph);
    graph->Swap(meta_graph.mutable_graph_def());
  } else if (path.ends_with(".pbtxt")) {
    parse_message_text(path, bytes, *graph);
  } else {
    parse_message(path, bytes, *graph);
  }
  return graph;
}

}  // namespace systole
