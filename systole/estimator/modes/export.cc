#include "systole/base/log.h"
#include "systole/estimator/impl.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/saved_model_builder.h"

namespace systole {
namespace {

// Returns the outputs of a signature by name.
std::map<std::string, Output> named_outputs(const std::string& signature,
                                            const Nest<Output>& outputs) {
  if (outputs.is_leaf()) return {{"output", outputs.leaf()}};
  std::map<std::string, Output> named;
  for (const std::string& name : outputs.names()) {
    if (!outputs[name].is_leaf()) break;
    named[name] = outputs[name].leaf();
  }
  if (named.empty() || named.size() != outputs.size()) {
    throw invalid_argument(
        "export_outputs: signature '{}', got {}, expected a tensor or tensors by name", signature,
        outputs.to_string());
  }
  return named;
}

// A single signature is also the default one.
std::map<std::string, Nest<Output>> signatures_of(const TPUEstimatorSpec& spec) {
  const std::string default_name(kDefaultServingSignature);
  std::map<std::string, Nest<Output>> signatures = spec.export_outputs;
  if (signatures.empty()) signatures[default_name] = spec.predictions;
  if (signatures.size() == 1) signatures[default_name] = signatures.begin()->second;
  if (!signatures.contains(default_name)) {
    throw invalid_argument(
        "Multiple `export_outputs` were provided, but none of them are specified as the default. "
        "Use the name '{}' to specify a default.",
        default_name);
  }
  return signatures;
}

ExportOptions export_options(const estimator::Model& model, const ServingInputReceiver& receiver,
                             const ExportSavedModelOptions& options) {
  ExportOptions result{.assets = options.assets, .mlir_batch_size = options.mlir_batch_size};
  for (const auto& [name, outputs] : signatures_of(model.spec)) {
    result.signatures[name] = {.inputs = receiver.receiver_tensors,
                               .outputs = named_outputs(name, outputs)};
  }
  return result;
}

void check_receiver(const ServingInputReceiver& receiver) {
  if (receiver.features.empty()) {
    throw invalid_argument("serving_input_receiver_fn: features, got none, expected the model's");
  }
  if (receiver.receiver_tensors.empty()) {
    throw invalid_argument(
        "serving_input_receiver_fn: receiver_tensors, got none, expected what is fed, by name");
  }
}

void copy_extras(const std::string& folder, const std::map<std::string, std::string>& extras) {
  FileSystem& files = default_file_system();
  for (const auto& [name, path] : extras) {
    const std::string to = join_path(folder, "assets.extra/" + name);
    files.make_directories(parent_path(to));
    write_file_atomically(files, to, read_file(files, path));
  }
}

// Removes a folder, unless it was renamed.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  ~TemporaryFolder() {
    try {
      remove_tree(default_file_system(), path_);
    } catch (const Error& error) {
      log_warning("{}", error.what());
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::string TPUEstimator::Impl::export_saved_model(const std::string& export_dir_base,
                                                   const ServingInputReceiverFn& receiver_fn,
                                                   const ExportSavedModelOptions& given) {
  if (!receiver_fn) throw invalid_argument("An input_receiver_fn must be defined.");
  if (!options.export_to_tpu && !options.export_to_cpu) {
    throw invalid_argument("One of export_to_cpu and export_to_tpu must be true.");
  }
  require_checkpoint(given.checkpoint_path, Mode::predict);
  ServingInputReceiver receiver;
  const estimator::Model model = estimator::trace_serving(
      options.model_fn,
      [&] {
        receiver = receiver_fn();
        check_receiver(receiver);
        return receiver.features;
      },
      {.mode = Mode::predict, .params = options.params, .seed = config.tf_random_seed});
  ask_scaffold(model);
  const ExportOptions wanted = export_options(model, receiver, given);
  // The exported graph has no replicas: any device runs it.
  const std::unique_ptr<Session> session = make_session(model, "");
  restore(model, *session, given.checkpoint_path);
  FileSystem& files = default_file_system();
  files.make_directories(export_dir_base);
  std::string directory = timestamped_export_directory(files, export_dir_base);
  const TemporaryFolder temporary(join_path(export_dir_base, "temp-" + base_name(directory)));
  systole::export_saved_model(*session, temporary.path(), wanted);
  copy_extras(temporary.path(), given.assets_extra);
  files.rename(temporary.path(), directory);
  log_info("SavedModel written to: {}", directory);
  return directory;
}

}  // namespace systole
