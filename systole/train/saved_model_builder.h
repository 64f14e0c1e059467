// Exports a graph with its variables as a SavedModel. (tf.saved_model)
//   DIRECTORY/saved_model.pb             a SavedModel message: GraphDef of TensorFlow's ops,
//   signatures DIRECTORY/variables/variables.*      a tensor bundle DIRECTORY/assets/<name> files
//   that the model needs DIRECTORY/model.mlir                 StableHLO of the default signature,
//   ours alone
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/graph/api/graph.h"
#include "systole/session/session.h"

namespace systole {

inline constexpr std::string_view kServeTag = "serve";
inline constexpr std::string_view kDefaultServingSignature = "serving_default";
inline constexpr std::string_view kPredictMethod = "tensorflow/serving/predict";
inline constexpr std::string_view kClassifyMethod = "tensorflow/serving/classify";
inline constexpr std::string_view kRegressMethod = "tensorflow/serving/regress";

// What a model takes and gives, by names of their own.
struct SignatureTensors {
  std::map<std::string, Output> inputs;
  std::map<std::string, Output> outputs;
  std::string method_name = std::string(kPredictMethod);
};

struct ExportOptions {
  // By name; "serving_default" is what `systole predict` takes unless it is told another.
  std::map<std::string, SignatureTensors> signatures;
  std::vector<std::string> tags = {std::string(kServeTag)};
  // Files to copy into assets/, by the name that they get there.
  std::map<std::string, std::string> assets = {};
  // model.mlir is made for this many examples where the graph leaves the number open.
  int64_t mlir_batch_size = 1;
  // Null: default_file_system().
  FileSystem* file_system = nullptr;
};

// Writes the SavedModel of the session's graph: the nodes that the signatures need, and all their
// variables at their present values. saved_model.pb is written last: without it the directory is no
// SavedModel. Errors: ALREADY_EXISTS when the directory holds one; INVALID_ARGUMENT without
// signatures; UNIMPLEMENTED names ops that TensorFlow does not have; FAILED_PRECONDITION for a
// variable that is not initialised; those of the file system.
void export_saved_model(Session& session, const std::string& directory,
                        const ExportOptions& options);

// BASE/<seconds since the Unix epoch>, or the next number that is not taken: a new version each
// export, as TensorFlow Serving looks for them.
std::string timestamped_export_directory(FileSystem& file_system, const std::string& base,
                                         Clock& clock = real_clock());

}  // namespace systole
