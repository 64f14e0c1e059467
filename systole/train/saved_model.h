// Runs SavedModels: ours, and those of TensorFlow whose ops are supported.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/mutex.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/io/saved_models/saved_model.h"

namespace systole {

using NamedTensors = std::map<std::string, Tensor>;

struct SavedModelOptions {
  std::vector<std::string> tags = {"serve"};
  std::string target = {};            // of the session that runs it
  FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the model
  // Lets the model's graph open every file and bucket that this process can. Otherwise it reads and
  // writes only inside the folder `assets` of its directory. See SECURITY.md.
  bool allow_files = false;
};

// A loaded SavedModel. A signature is built at its first use, once for each rank of its inputs.
// Thread-safe; predictions run one at a time.
class SavedModel {
 public:
  // If no graph has the tags and there is only one, loads that. Errors: those of SavedModelFile.
  explicit SavedModel(const std::string& directory, const SavedModelOptions& options = {});
  ~SavedModel();

  const MetaGraphInfo& info() const { return *info_; }
  // "": the signature "serving_default", or the only one. Errors: NOT_FOUND lists the names.
  const SignatureInfo& signature(std::string_view name = "") const;

  // Runs a signature ("" as above). Errors: INVALID_ARGUMENT lists inputs that are missing, unknown
  // or of another type; UNIMPLEMENTED names every unsupported op; those of reading the variables;
  // PERMISSION_DENIED for a node that opens a file without `allow_files`.
  NamedTensors predict(const NamedTensors& inputs, std::string_view signature = "");

  // Returns the program of a signature for inputs of these types (their values do not matter), with
  // the variables as constants: parameters and results in the order of their names. Errors: those
  // of predict() and inference_program().
  std::unique_ptr<hlo::Module> program(const NamedTensors& inputs, std::string_view signature = "");

 private:
  struct Built;
  Built& built_for(const std::string& name, const NamedTensors& inputs) SYSTOLE_REQUIRES(mutex_);
  const std::string& signature_name(std::string_view name) const;
  void check_inputs(const std::string& name, const NamedTensors& inputs) const;
  std::unique_ptr<Built> build(const std::string& name, const NamedTensors& inputs) const;

  std::string directory_;
  SavedModelOptions options_;
  FileSystem& file_system_;
  std::unique_ptr<SavedModelFile> file_;
  size_t index_ = 0;
  const MetaGraphInfo* info_ = nullptr;
  Mutex mutex_;  // guards built_ and what it holds
  std::map<std::string, std::unique_ptr<Built>> built_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole
