// Exports a graph with its variables as a SavedModel. (tf.saved_model)
//   DIRECTORY/saved_model.pb         a SavedModel message: a GraphDef of TensorFlow's ops,
//   signatures DIRECTORY/variables/variables.*  a tensor bundle DIRECTORY/assets/<name> files that
//   the model reads DIRECTORY/model.mlir             StableHLO of the default signature; not in
//   TensorFlow's
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/graph/core/graph.h"
#include "systole/session/session.h"

namespace systole {

inline constexpr std::string_view kServeTag = "serve";
inline constexpr std::string_view kDefaultServingSignature = "serving_default";
inline constexpr std::string_view kPredictMethod = "tensorflow/serving/predict";
inline constexpr std::string_view kClassifyMethod = "tensorflow/serving/classify";
inline constexpr std::string_view kRegressMethod = "tensorflow/serving/regress";

// The inputs and outputs of a signature, by the signature's own names.
struct SignatureTensors {
  std::map<std::string, Output> inputs;
  std::map<std::string, Output> outputs;
  std::string method_name = std::string(kPredictMethod);
};

struct ExportOptions {
  // By name. `systole predict` uses "serving_default" by default.
  std::map<std::string, SignatureTensors> signatures;
  std::vector<std::string> tags = {std::string(kServeTag)};
  // Files to copy into assets/: name there -> path.
  std::map<std::string, std::string> assets = {};
  // The batch size of model.mlir, if the graph's is unknown.
  int64_t mlir_batch_size = 1;
  // Null: default_file_system().
  FileSystem* file_system = nullptr;
};

// Writes the nodes of the session's graph that the signatures need, and the current values of their
// variables. saved_model.pb is written last, and marks the directory as complete. Errors:
// ALREADY_EXISTS when the directory has one; INVALID_ARGUMENT without signatures; UNIMPLEMENTED
// names ops that TensorFlow lacks; FAILED_PRECONDITION for an uninitialised variable; those of the
// file system.
void export_saved_model(Session& session, const std::string& directory,
                        const ExportOptions& options);

// Returns BASE/<seconds since the Unix epoch>, or the next number that does not exist yet: the
// version folders of TensorFlow Serving.
std::string timestamped_export_directory(FileSystem& file_system, const std::string& base,
                                         Clock& clock = real_clock());

}  // namespace systole
