#include "systole/keras/files/saving.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/files/h5_weights.h"
#include "systole/keras/files/keras3_weights.h"
#include "systole/keras/files/keras_archive.h"
#include "systole/keras/files/optimizer_state.h"
#include "systole/keras/files/tf_weights.h"
#include "systole/keras/files/training_config.h"
#include "systole/keras/models/config_version.h"
#include "systole/keras/models/keras3_config.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

constexpr const char* kWeightsGroup = "model_weights";

// What Keras 3 calls its files of weights.
bool is_keras3_weights_path(std::string_view path) { return path.ends_with(".weights.h5"); }

bool is_h5_path(std::string_view path) {
  return path.ends_with(".h5") || path.ends_with(".keras") || path.ends_with(".hdf5");
}

bool wants_h5(const std::string& path, const std::string& format) {
  if (format.empty()) return is_h5_path(path);
  if (format == "h5" || format == "hdf5" || format == "keras") return true;
  if (format != "tf" && format != "tensorflow") {
    throw invalid_argument("Unknown format \"{}\". Was expecting one of {{\"tf\", \"h5\"}}.",
                           format);
  }
  if (is_h5_path(path)) {
    throw invalid_argument(
        "save_weights got save_format=\"tf\"/\"tensorflow\", but the filepath (\"{}\") looks like "
        "an "
        "HDF5 file. Omit the \".h5\"/\".keras\" when saving in TensorFlow format.",
        path);
  }
  return false;
}

void check_overwrite(bool overwrite, bool exists, const std::string& path) {
  if (overwrite || !exists) return;
  throw make_error(Code::already_exists, "{}: the file exists, expected overwrite = true", path);
}

// `what`: "save" or "load". Errors: FAILED_PRECONDITION for a model that was not given a shape.
void check_has_weights(const Model& model, std::string_view what) {
  if (!model.weights().empty() || model.definition()->built()) return;
  const auto* network = dynamic_cast<const NetworkDefinition*>(model.definition().get());
  if (network != nullptr && network->outputs().size() > 0) return;
  throw failed_precondition(
      "Unable to {} weights of model '{}', which has not created its variables yet: give its input "
      "shape, or call it on data first",
      what, model.name());
}

// The file that a symbolic link names, else `path`. Errors: FAILED_PRECONDITION for what is there
// and is no regular file, such as a device.
std::string file_to_replace(const std::string& path) {
  constexpr std::string_view kFileScheme = "file://";
  const bool with_scheme = path.starts_with(kFileScheme);
  if (!with_scheme && !path_scheme(path).empty()) return path;
  std::filesystem::path file = with_scheme ? path.substr(kFileScheme.size()) : path;
  std::error_code failed;
  constexpr int kMaxLinks = 40;  // as Linux
  for (int links = 0; std::filesystem::is_symlink(file, failed); ++links) {
    if (links == kMaxLinks) throw invalid_argument("{}: got a loop of symbolic links", path);
    file = file.parent_path() / std::filesystem::read_symlink(file);
  }
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw failed_precondition(
        "{}: cannot save, got a {}, expected a regular file", path,
        std::filesystem::is_directory(status) ? "directory" : "device, pipe or socket");
  }
  return with_scheme ? std::string(kFileScheme) + file.string() : file.string();
}

void write_model_file(FileSystem& files, const std::string& path, const std::string& bytes) {
  const std::string target = file_to_replace(path);
  files.make_directories(parent_path(target));
  write_file_atomically(files, target, bytes);
}

// Whether files keep the optimizer. Warns of one that they cannot keep.
bool has_optimizer_for_files(const Model& model) {
  const auto& trainer = model.model()->trainer;
  if (!trainer || !trainer->options().optimizer) return false;
  if (trainer->options().optimizer->class_name() != "TFOptimizer") return true;
  log_warning(
      "TensorFlow optimizers do not make it possible to access optimizer attributes or optimizer "
      "state after instantiation. As a result, we cannot save the optimizer as part of the model "
      "save file. You will have to compile your model again after loading it.");
  return false;
}

void write_training(Hdf5Writer& file, const Model& model) {
  const auto& trainer = model.model()->trainer;
  const OptimizerSpec& optimizer = trainer->options().optimizer;
  file.set_string("", "training_config",
                  training_config_of(trainer->options(), model.output_names()).dump());
  write_optimizer_state(file, *optimizer.definition());
}

void compile_as_saved(const Hdf5Reader& file, const std::string& version, const Model& model) {
  if (!file.has_attribute("", "training_config")) {
    log_warning(
        "No training configuration found in save file: the model was *not* compiled. Compile it "
        "manually.");
    return;
  }
  const Json config = parse_model_json(file.string("", "training_config"));
  if (!config.is_object()) return;
  const std::vector<std::string> outputs = model.output_names();
  try {
    model.compile(compile_options_from(config, version, outputs));
  } catch (const Error& error) {
    throw error.with_context("load_model without compiling: {.compile = false}");
  }
  OptimizerDefinition& optimizer = *model.model()->trainer->options().optimizer.definition();
  const std::vector<WeightPtr> parameters = model.model()->trainable_weights();
  if (!file.contains("optimizer_weights") || read_optimizer_state(file, optimizer, parameters)) {
    return;
  }
  log_warning(
      "Error in loading the saved optimizer state. As a result, your model is starting with a "
      "freshly "
      "initialized optimizer.");
  model.compile(compile_options_from(config, version, outputs));
}

}  // namespace

void save_model(const Model& model, const std::string& path, const SaveOptions& options) {
  if (!model.model()->is_graph_network()) {
    throw unimplemented(
        "Currently `save` requires model to be a graph network. Consider using `save_weights`, in "
        "order to save the weights of the model.");
  }
  check_has_weights(model, "save");
  FileSystem& files = default_file_system();
  check_overwrite(options.overwrite, files.exists(path), path);
  const bool with_optimizer = options.include_optimizer && has_optimizer_for_files(model);
  if (path.ends_with(".keras")) {
    write_model_file(files, path, keras_archive_of(model, path, with_optimizer));
    return;
  }
  Hdf5Writer file(path);
  Json config = {{"class_name", model.class_name()},
                 {"config", with_inner_modules(model.get_config())}};
  file.set_string("", "keras_version", take_version_marks(config, kKerasVersion));
  file.set_string("", "backend", "tensorflow");
  file.set_string("", "model_config", config.dump());
  write_h5_weights(file, kWeightsGroup, model.layers());
  if (with_optimizer) write_training(file, model);
  write_model_file(files, path, file.finish());
}

Model load_model(const std::string& path, const LoadModelOptions& options) {
  FileSystem& files = default_file_system();
  if (is_keras_archive(files, path)) {
    try {
      return load_keras_archive(files, path, options.compile);
    } catch (const Error& error) {
      if (error.message().find(path) != std::string::npos) throw;
      throw error.with_context(path);
    }
  }
  const Hdf5Reader file(files, path);
  if (!file.has_attribute("", "model_config")) {
    throw invalid_argument("{}: No model found in config file, expected a file of model.save()",
                           path);
  }
  try {
    const std::string version =
        file.has_attribute("", "keras_version") ? file.string("", "keras_version") : "";
    Json config = parse_model_json(file.string("", "model_config"));
    apply_keras_version(config, version);
    Model model = model_from_config(config);
    StoredWeights stored = read_h5_weights(file, kWeightsGroup);
    load_stored_weights(model.layers(), stored, {});
    if (options.compile) compile_as_saved(file, version, model);
    return model;
  } catch (const Error& error) {
    if (error.message().find(path) != std::string::npos) throw;
    throw error.with_context(path);
  }
}

void save_weights(const Model& model, const std::string& path, const SaveWeightsOptions& options) {
  check_has_weights(model, "save");
  FileSystem& files = default_file_system();
  if (!wants_h5(path, options.save_format)) {
    check_overwrite(options.overwrite, bundle_exists(files, path), path);
    files.make_directories(parent_path(path));
    write_tf_weights(files, path, *model.model());
    const auto& trainer = model.model()->trainer;
    if (trainer && trainer->options().optimizer) {
      log_warning(
          "This model was compiled with a Keras optimizer ({}) but is being saved in TensorFlow "
          "format with `save_weights`. The model's weights will be saved, but unlike with "
          "TensorFlow "
          "optimizers in the TensorFlow format the optimizer's state will not be saved.",
          trainer->options().optimizer->class_name());
    }
    return;
  }
  check_overwrite(options.overwrite, files.exists(path), path);
  Hdf5Writer file(path);
  if (is_keras3_weights_path(path)) {
    write_keras3_weights(file, model);
  } else {
    write_h5_weights(file, "", model.layers());
  }
  write_model_file(files, path, file.finish());
}

LoadReport load_weights(const Model& model, const std::string& path,
                        const LoadWeightsOptions& options) {
  FileSystem& files = default_file_system();
  if (!is_h5_path(path) && bundle_exists(files, path)) {
    if (options.by_name) {
      throw invalid_argument(
          "{}: Weights may only be loaded based on topology into Models when loading "
          "TensorFlow-formatted weights (got by_name=True to load_weights).",
          path);
    }
    check_has_weights(model, "load");
    return read_tf_weights(files, path, *model.model());
  }
  const bool archive = is_keras_archive(files, path);
  if (archive || has_keras3_weights(Hdf5Reader(files, path))) {
    if (options.by_name || options.skip_mismatch) {
      throw invalid_argument(
          "{}: by_name and skip_mismatch, got a file of Keras 3, whose weights have no names, "
          "expected one of Keras 2",
          path);
    }
    check_has_weights(model, "load");
    return archive ? load_archive_weights(files, path, model)
                   : read_keras3_weights(Hdf5Reader(files, path), model, nullptr);
  }
  const Hdf5Reader file(files, path);
  const bool whole_model = !file.has_attribute("", "layer_names") &&
                           !file.has_attribute("", "layer_names0") && file.contains(kWeightsGroup);
  const StoredWeights stored = read_h5_weights(file, whole_model ? kWeightsGroup : "");
  LoadReport report = load_stored_weights(model.layers(), stored, options);
  if (options.by_name && (!report.skipped.empty() || !report.missing.empty())) {
    log_info("{}: {}", path, report.to_string());
  }
  return report;
}

Model clone_model(const Model& model) {
  return model_from_config({{"class_name", model.class_name()}, {"config", model.get_config()}});
}

void Model::save(const std::string& path, const SaveOptions& options) const {
  save_model(*this, path, options);
}

void Model::save_weights(const std::string& path, const SaveWeightsOptions& options) const {
  keras::save_weights(*this, path, options);
}

LoadReport Model::load_weights(const std::string& path, const LoadWeightsOptions& options) const {
  return keras::load_weights(*this, path, options);
}

}  // namespace systole::keras
