#include "apps/systole/inspect/verify.h"

#include <functional>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
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
  for (const auto& [name, entry] : reader.entries()) {
    attempt(result, [&] { result.bytes += reader.read(name).byte_size(); });
    ++result.tensors;
  }
}

}  // namespace

Verification verify(FileSystem& file_system, const FoundFile& file) {
  Verification result;
  if (file.kind == FileKind::saved_model) {
    const std::string prefix = saved_model_variables(file.path);
    attempt(result, [&] {
      SavedModelFile(file_system, file.path);
      result.unproven.push_back(join_path(file.path, "saved_model.pb") +
                                ": can be read; it has no checksum");
    });
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
