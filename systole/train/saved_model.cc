#include "systole/train/saved_model.h"

#include <fmt/ranges.h>

#include "systole/base/mutex.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/session.h"
#include "systole/train/checkpoint_match.h"
#include "systole/train/inference_program.h"

namespace systole {
namespace {

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Returns the signature's type, with unknown dimensions taken from the fed tensor. The first stays
// unknown, so that one graph serves batches of any size.
TensorType placeholder_type(const TensorInfo& info, const Tensor& fed) {
  TensorType type{fed.dtype(), fed.shape()};
  if (info.shape) {
    type.shape = *info.shape;
  } else {
    for (int axis = 0; axis < type.shape.rank(); ++axis) type.shape.set_dim(axis, kUnknown);
  }
  return type;
}

}  // namespace

struct SavedModel::Built {
  std::shared_ptr<Graph> graph;
  std::vector<std::string> input_names;
  std::vector<Output> inputs;
  std::vector<std::string> output_names;
  std::vector<Output> outputs;
  std::unique_ptr<Session> session;
};

SavedModel::SavedModel(const std::string& directory, const SavedModelOptions& options)
    : directory_(directory),
      options_(options),
      file_system_(file_system_or_default(options.file_system)),
      file_(std::make_unique<SavedModelFile>(file_system_, directory)) {
  if (file_->meta_graphs().size() > 1) index_ = file_->find(options_.tags);
  info_ = &file_->meta_graphs()[index_];
}

SavedModel::~SavedModel() = default;

const std::string& SavedModel::signature_name(std::string_view name) const {
  const auto& signatures = info_->signatures;
  const std::string wanted(name.empty() ? "serving_default" : name);
  auto found = signatures.find(wanted);
  if (found == signatures.end() && name.empty() && signatures.size() == 1) {
    found = signatures.begin();
  }
  if (found == signatures.end()) {
    const auto names = keys_of(signatures);
    throw not_found("{}: signature, got '{}', expected one of: {}{}", file_->path(), wanted,
                    fmt::join(names, ", "), did_you_mean(wanted, names));
  }
  return found->first;
}

const SignatureInfo& SavedModel::signature(std::string_view name) const {
  return info_->signatures.at(signature_name(name));
}

void SavedModel::check_inputs(const std::string& name, const NamedTensors& inputs) const {
  const SignatureInfo& signature = info_->signatures.at(name);
  const auto names = keys_of(signature.inputs);
  for (const auto& [key, tensor] : inputs) {
    if (!signature.inputs.contains(key)) {
      throw invalid_argument("signature '{}': input, got '{}', expected one of: {}{}", name, key,
                             fmt::join(names, ", "), did_you_mean(key, names));
    }
  }
  for (const auto& [key, info] : signature.inputs) {
    const auto it = inputs.find(key);
    if (it == inputs.end()) {
      throw invalid_argument("signature '{}': input '{}', got none, expected a {} tensor", name,
                             key, info.dtype_name);
    }
    const Tensor& fed = it->second;
    const bool shape_fits = !info.shape || (info.shape->rank() == fed.rank() &&
                                            info.shape->compatible_with(fed.shape()));
    if (fed.dtype() != info.dtype || !shape_fits) {
      throw invalid_argument("signature '{}': input '{}', got {}, expected {}{}", name, key,
                             fed.type(), info.dtype_name,
                             info.shape ? info.shape->to_string() : "");
    }
  }
}

std::unique_ptr<SavedModel::Built> SavedModel::build(const std::string& name,
                                                     const NamedTensors& inputs) const {
  const SignatureInfo& signature = info_->signatures.at(name);
  auto built = std::make_unique<Built>();
  built->graph = std::make_shared<Graph>();
  const GraphScope scope(*built->graph);
  ImportOptions import{.asset_folder = join_path(directory_, "assets"),
                       .allow_files = options_.allow_files,
                       .what = file_->path()};
  for (const auto& [key, info] : signature.inputs) {
    const TensorType type = placeholder_type(info, inputs.at(key));
    const std::string node = info.name.substr(0, info.name.find(':'));
    built->input_names.push_back(key);
    built->inputs.push_back(placeholder(type.dtype, type.shape, node));
    import.inputs[info.name] = built->inputs.back();
  }
  for (const auto& [key, info] : signature.outputs) {
    built->output_names.push_back(key);
    import.outputs.push_back(info.name);
  }
  for (const auto& asset : file_->message(index_).asset_file_def()) {
    const std::string path = join_path(directory_, "assets/" + asset.filename());
    const std::string& tensor = asset.tensor_info().name();
    if (!tensor.empty()) import.inputs[tensor] = constant(Tensor(path.c_str()));
  }
  ImportedGraph imported = import_graph_def(file_->message(index_).graph_def(), import);
  built->outputs = std::move(imported.outputs);
  built->session =
      std::make_unique<Session>(options_.target, SessionConfig{.graph = built->graph.get()});
  if (imported.variables.empty()) return built;
  CheckpointMatch match;
  for (const auto& [key, variable] : imported.variables) match.add(key, variable);
  match.restore(*built->session, BundleReader(file_system_, saved_model_variables(directory_)));
  return built;
}

SavedModel::Built& SavedModel::built_for(const std::string& name, const NamedTensors& inputs) {
  check_inputs(name, inputs);
  std::string key = name;
  for (const auto& [input, tensor] : inputs) key += fmt::format("/{}", tensor.rank());
  auto& built = built_[key];
  if (built == nullptr) built = build(name, inputs);
  return *built;
}

NamedTensors SavedModel::predict(const NamedTensors& inputs, std::string_view signature) {
  const MutexLock lock(mutex_);
  const Built& built = built_for(signature_name(signature), inputs);
  std::vector<Fetch> fetches(built.outputs.begin(), built.outputs.end());
  std::vector<FeedItem> feeds;
  for (size_t i = 0; i < built.inputs.size(); ++i) {
    feeds.emplace_back(built.inputs[i], inputs.at(built.input_names[i]));
  }
  const std::vector<Tensor> values = built.session->run(fetches, feeds);
  NamedTensors outputs;
  for (size_t i = 0; i < values.size(); ++i) outputs[built.output_names[i]] = values[i];
  return outputs;
}

std::unique_ptr<hlo::Module> SavedModel::program(const NamedTensors& inputs,
                                                 std::string_view signature) {
  const MutexLock lock(mutex_);
  const Built& built = built_for(signature_name(signature), inputs);
  std::vector<Feed> feeds;
  for (size_t i = 0; i < built.inputs.size(); ++i) {
    feeds.push_back({built.inputs[i], inputs.at(built.input_names[i]).type()});
  }
  return inference_program(*built.session, built.outputs, feeds);
}

}  // namespace systole
