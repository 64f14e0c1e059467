#include "systole/keras/files/keras_archive.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/io/archives/zip_writer.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/files/keras3_weights.h"
#include "systole/keras/files/optimizer_state.h"
#include "systole/keras/files/training_config.h"
#include "systole/keras/functions/activation.h"
#include "systole/keras/models/config_version.h"
#include "systole/keras/models/keras3_config.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

constexpr const char* kMetadataFile = "metadata.json";
constexpr const char* kConfigFile = "config.json";
constexpr const char* kWeightsFile = "model.weights.h5";
constexpr const char* kNewKerasVersion = "3.0.0";
constexpr const char* kOwnKey = "systole";
constexpr uint64_t kMaxConfigBytes = uint64_t{1} << 30U;
constexpr uint64_t kMaxWeightBytes = uint64_t{1} << 34U;  // as Hdf5Reader

struct KerasArchive {
  std::string metadata;
  std::string config;
  std::string weights;
};

KerasArchive read_archive(FileSystem& files, const std::string& path) {
  KerasArchive read;
  ArchiveReader reader(files, path);
  while (reader.next()) {
    if (reader.name() == kMetadataFile) read.metadata = reader.read(kMaxConfigBytes);
    if (reader.name() == kConfigFile) read.config = reader.read(kMaxConfigBytes);
    if (reader.name() == kWeightsFile) read.weights = reader.read(kMaxWeightBytes);
  }
  if (read.config.empty() || read.weights.empty()) {
    throw invalid_argument("{}: got an archive without {}, expected one of Keras (.keras)", path,
                           read.config.empty() ? kConfigFile : kWeightsFile);
  }
  return read;
}

// What Keras has no words for, in the metadata of archives that are written here.
struct OwnMetadata {
  std::string version = kNewKerasVersion;  // whose meanings config.json has
  Json training;                           // as training_config_of() writes it, or null
};

OwnMetadata metadata_of(const KerasArchive& archive) {
  OwnMetadata own;
  const Json metadata = Json::parse(archive.metadata, nullptr, /*allow_exceptions=*/false);
  if (!metadata.is_object()) return own;
  const Json ours = metadata.value(kOwnKey, Json());
  const Json& from = ours.is_object() ? ours : metadata;
  const Json version = from.value("keras_version", Json());
  if (version.is_string()) own.version = version.get<std::string>();
  if (ours.is_object()) own.training = ours.value("training_config", Json());
  return own;
}

// The version whose meanings a model's configuration has.
std::string version_of_meanings(const Model& model) {
  Json config = {{"class_name", model.class_name()}, {"config", model.get_config()}};
  if (config.dump().find(kHardSigmoidOfKeras3) != std::string::npos) return kNewKerasVersion;
  return take_version_marks(config, kKerasVersion);
}

Hdf5Reader weights_in(const KerasArchive& archive, const std::string& path) {
  return {path + "/" + kWeightsFile, archive.weights};
}

void compile_from_archive(const Json& config, const OwnMetadata& metadata,
                          const Hdf5Reader& weights, const Model& model) {
  const std::string& version = metadata.version;
  const Json training = metadata.training.is_object()
                            ? metadata.training
                            : training_config_from_keras3(config.value("compile_config", Json()));
  if (training.is_null()) {
    log_warning(
        "No training configuration found in save file: the model was *not* compiled. Compile it "
        "manually.");
    return;
  }
  const std::vector<std::string> outputs = model.output_names();
  try {
    model.compile(compile_options_from(training, version, outputs));
  } catch (const Error& error) {
    throw error.with_context("load_model without compiling: {.compile = false}");
  }
  std::vector<Tensor> values = read_keras3_optimizer(weights);
  if (values.empty()) return;
  OptimizerDefinition& optimizer = *model.model()->trainer->options().optimizer.definition();
  if (set_keras3_optimizer_values(std::move(values), optimizer,
                                  model.model()->trainable_weights())) {
    return;
  }
  log_warning(
      "{}: Error in loading the saved optimizer state. As a result, your model is starting with a "
      "freshly initialized optimizer.",
      weights.name());
  model.compile(compile_options_from(training, version, outputs));
}

}  // namespace

bool is_keras_archive(FileSystem& files, const std::string& path) {
  const std::unique_ptr<RandomAccessFile> file = files.open(path);
  std::array<char, 4> begin{};
  const size_t size = file->read(0, begin.size(), begin.data());
  return looks_like_zip({begin.data(), size});
}

std::string keras_archive_of(const Model& model, const std::string& path, bool include_optimizer) {
  const auto& network = dynamic_cast<const NetworkDefinition&>(*model.definition());
  Json config = keras3_model_config(network);
  static_cast<void>(take_version_marks(config, kNewKerasVersion));
  Json metadata = {{"keras_version", kNewKerasVersion},
                   {kOwnKey, {{"keras_version", version_of_meanings(model)}}}};
  Hdf5Writer weights(path + "/" + kWeightsFile);
  write_keras3_weights(weights, model);
  const auto& trainer = model.model()->trainer;
  const bool compiled = include_optimizer && trainer && trainer->options().optimizer;
  if (compiled && trainer->options().optimizer->class_name() != "TFOptimizer") {
    metadata[kOwnKey]["training_config"] =
        training_config_of(trainer->options(), model.output_names());
    config["compile_config"] = keras3_compile_config_of(trainer->options(), model.output_names());
    write_keras3_optimizer(weights,
                           keras3_optimizer_values(*trainer->options().optimizer.definition()));
  }
  ZipWriter archive(path);
  archive.add(kMetadataFile, metadata.dump());
  archive.add(kConfigFile, config.dump());
  archive.add(kWeightsFile, weights.finish());
  return archive.finish();
}

Model load_keras_archive(FileSystem& files, const std::string& path, bool compile) {
  const KerasArchive archive = read_archive(files, path);
  const OwnMetadata metadata = metadata_of(archive);
  Json config = parse_model_json(archive.config);
  apply_keras_version(config, metadata.version);
  Model model = model_from_config(config);
  const Hdf5Reader weights = weights_in(archive, path);
  static_cast<void>(read_keras3_weights(weights, model, config.value("config", Json())));
  // The upgraded configuration has the model alone.
  if (compile) compile_from_archive(Json::parse(archive.config), metadata, weights, model);
  return model;
}

LoadReport load_archive_weights(FileSystem& files, const std::string& path, const Model& model) {
  const KerasArchive archive = read_archive(files, path);
  return read_keras3_weights(weights_in(archive, path), model, nullptr);
}

}  // namespace systole::keras
