#include "apps/systole/inspect/verify.h"

#include <functional>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/wire/checksum_trailer.h"
#include "systole/train/saver.h"

namespace systole::app {
namespace {

// Notes what `read` throws.
void attempt(Verification& result, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    (error.code() == Code::unimplemented ? result.unproven : result.damaged)
        .push_back(error.message());
  }
}

void verify_bundle(FileSystem& file_system, const std::string& prefix, Verification& result) {
  const BundleReader reader(file_system, prefix);
  for (const auto& entry : reader.entries()) {
    attempt(result, [&] { result.bytes += reader.read(entry.first).byte_size(); });
    ++result.tensors;
  }
}

bool has_variables(const SavedModelFile& model) {
  for (const MetaGraphInfo& graph : model.meta_graphs()) {
    for (const char* op : {"VarHandleOp", "VariableV2", "Variable"}) {
      if (graph.graph.ops.contains(op)) return true;
    }
  }
  return false;
}

// Reads the graph, which ends with a checksum if Systole wrote it.
void verify_graph(FileSystem& file_system, const std::string& directory, Verification& result) {
  const std::string path = join_path(directory, "saved_model.pb");
  const std::string bytes = read_file(file_system, path);
  const SavedModelFile model(path, bytes);
  if (checked_without_trailer(path, bytes, kSavedModelChecksumMark).size() < bytes.size()) {
    result.bytes += static_cast<int64_t>(bytes.size());
  } else {
    result.unproven.push_back(path + ": can be read; it has no checksum");
  }
  if (has_variables(model) && !bundle_exists(file_system, saved_model_variables(directory))) {
    throw make_error(Code::data_loss, "{}: variables, got none, expected those of the graph",
                     saved_model_variables(directory));
  }
}

// Other files of a SavedModel have no checksum: assets, programs.
void name_unproven(FileSystem& file_system, const std::string& directory, Verification& result) {
  for (const std::string& name : file_system.list(directory)) {
    const std::string path = join_path(directory, name);
    if (name == "saved_model.pb" || file_system.stat(path).is_directory) continue;
    result.unproven.push_back(path + ": was not read; it has no checksum");
  }
}

}  // namespace

Verification verify(FileSystem& file_system, const FoundFile& file) {
  Verification result;
  if (file.kind == FileKind::saved_model) {
    const std::string prefix = saved_model_variables(file.path);
    attempt(result, [&] { verify_graph(file_system, file.path, result); });
    name_unproven(file_system, file.path, result);
    const std::string assets = join_path(file.path, "assets");
    if (file_system.exists(assets)) name_unproven(file_system, assets, result);
    if (bundle_exists(file_system, prefix)) verify_bundle(file_system, prefix, result);
    return result;
  }
  if (file.kind != FileKind::checkpoint) {
    throw invalid_argument(
        "{}: --verify, got a file of kind '{}', expected a checkpoint or a "
        "SavedModel",
        file.path, to_string(file.kind));
  }
  verify_bundle(file_system, file.path, result);
  attempt(result, [&] {
    for (const auto& [name, bytes] : read_checkpoint_extras(file_system, file.path)) {
      result.bytes += static_cast<int64_t>(bytes.size());
    }
  });
  const std::string meta_graph = file.path + ".meta";
  if (!file_system.exists(meta_graph)) return result;
  attempt(result, [&] {
    read_graph_def(file_system, meta_graph);
    result.unproven.push_back(meta_graph + ": can be read; it has no checksum");
  });
  return result;
}

}  // namespace systole::app
