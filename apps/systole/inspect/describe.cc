#include "apps/systole/inspect/describe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/systole/inspect/curves.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/tables/npy.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/train/saver.h"

namespace systole::app {
namespace {

Json shape_json(const Shape& shape) {
  Json dims = Json::array();
  for (const int64_t size : shape) dims.push_back(size);
  return dims;
}

Json describe_checkpoint(FileSystem& file_system, const std::string& prefix) {
  const BundleReader reader(file_system, prefix);
  Json tensors = Json::array();
  int64_t elements = 0;
  uint64_t bytes = 0;
  for (const auto& [name, entry] : reader.entries()) {
    Json tensor{
        {"name", name}, {"dtype", entry.dtype_name}, {"shape", shape_json(entry.type.shape)}};
    if (entry.slices.empty()) {
      tensor["bytes"] = entry.size;
      bytes += entry.size;
    } else {
      tensor["parts"] = entry.slices.size();
    }
    elements += entry.type.shape.num_elements();
    tensors.push_back(std::move(tensor));
  }
  Json description{{"shards", reader.num_shards()},
                   {"elements", elements},
                   {"bytes", bytes},
                   {"tensors", std::move(tensors)}};
  for (const auto& [name, state] : read_checkpoint_extras(file_system, prefix)) {
    description["extras"].push_back({{"name", name}, {"bytes", state.size()}});
  }
  return description;
}

Json tensor_info_json(const std::map<std::string, TensorInfo>& infos) {
  Json tensors = Json::object();
  for (const auto& [key, info] : infos) {
    tensors[key] = {{"name", info.name}, {"dtype", info.dtype_name}};
    if (info.shape) tensors[key]["shape"] = shape_json(*info.shape);
  }
  return tensors;
}

Json graph_json(const GraphInfo& info) {
  return {{"nodes", info.nodes},
          {"functions", info.functions},
          {"producer", info.producer},
          {"placeholders", info.inputs},
          {"ops", info.ops}};
}

Json describe_saved_model(FileSystem& file_system, const std::string& directory) {
  const SavedModelFile file(file_system, directory);
  Json graphs = Json::array();
  for (const MetaGraphInfo& info : file.meta_graphs()) {
    Json signatures = Json::object();
    for (const auto& [name, signature] : info.signatures) {
      signatures[name] = {{"method", signature.method_name},
                          {"inputs", tensor_info_json(signature.inputs)},
                          {"outputs", tensor_info_json(signature.outputs)}};
    }
    graphs.push_back({{"tags", info.tags},
                      {"tensorflow_version", info.tensorflow_version},
                      {"writer", info.writer},
                      {"signatures", std::move(signatures)},
                      {"collections", info.collections},
                      {"assets", info.assets},
                      {"graph", graph_json(info.graph)}});
  }
  Json description{{"meta_graphs", std::move(graphs)}};
  if (const std::string prefix = saved_model_variables(directory);
      bundle_exists(file_system, prefix)) {
    description["variables"] = describe_checkpoint(file_system, prefix);
  }
  return description;
}

Json describe_checkpoint_state(FileSystem& file_system, const std::string& path) {
  const auto state = read_checkpoint_state(file_system, parent_path(path));
  if (!state) throw not_found("{}: file, got none, expected one", path);
  return {{"latest", state->model_checkpoint_path}, {"all", state->all_model_checkpoint_paths}};
}

// As few digits as give the number back; what JSON lacks is a string.
Json float_json(float value) {
  const std::string text = fmt::format("{}", value);
  return std::isfinite(value) ? Json::parse(text) : Json(text);
}

// Adds the summary of a later file of a run to that of earlier files.
void append_summary(EventFileSummary& all, EventFileSummary&& more) {
  if (all.num_events == 0) all.first_wall_time = more.first_wall_time;
  all.num_events += more.num_events;
  all.last_wall_time = std::max(all.last_wall_time, more.last_wall_time);
  for (const auto& [kind, count] : more.kinds) all.kinds[kind] += count;
  for (auto& [tag, rows] : more.tags) {
    for (TagSummary& row : rows) {
      auto& known = all.tags[tag];
      const auto same = std::ranges::find_if(known, [&](const TagSummary& other) {
        return other.kind == row.kind && other.plugin == row.plugin;
      });
      if (same == known.end()) {
        known.push_back(std::move(row));
        continue;
      }
      same->count += row.count;
      same->last_step = row.last_step;
      same->last = std::move(row.last);
    }
  }
}

Json describe_events(FileSystem& file_system, const std::string& path) {
  EventFileSummary summary;
  const std::vector<std::string> files = event_files(file_system, path);
  for (const std::string& file : files)
    append_summary(summary, summarize_events(file_system, file));
  Json tags = Json::array();
  for (const auto& [tag, rows] : summary.tags) {
    for (const TagSummary& row : rows) {
      Json entry{{"tag", tag},
                 {"kind", std::string(to_string(row.kind))},
                 {"count", row.count},
                 {"first_step", row.first_step},
                 {"last_step", row.last_step}};
      if (row.kind == SummaryValue::Kind::scalar) {
        entry["first"] = float_json(row.first.scalar);
        entry["last"] = float_json(row.last.scalar);
      }
      if (!row.plugin.empty()) entry["plugin"] = row.plugin;
      tags.push_back(std::move(entry));
    }
  }
  return {{"files", files.size()},
          {"events", summary.num_events},
          {"first_wall_time", summary.first_wall_time},
          {"last_wall_time", summary.last_wall_time},
          {"kinds", summary.kinds},
          {"tags", std::move(tags)}};
}

// What the records of a file have in common when they are tf.Examples.
struct Features {
  struct Feature {
    FeatureKind kind = FeatureKind::none;
    int64_t records = 0;
    int64_t least = 0;
    int64_t most = 0;
  };
  std::map<std::string, Feature, std::less<>> features;
  bool examples = true;

  void add(std::string_view record) {
    if (!examples) return;
    try {
      const ExampleView view(record);
      examples = !view.has_unknown_fields();
      for (const ExampleView::Entry& entry : view.entries()) {
        const int64_t size = entry.feature.size();
        auto [it, added] = features.try_emplace(std::string(entry.key));
        Feature& feature = it->second;
        if (entry.feature.kind() != FeatureKind::none) feature.kind = entry.feature.kind();
        feature.least = added ? size : std::min(feature.least, size);
        feature.most = std::max(feature.most, size);
        ++feature.records;
      }
    } catch (const Error&) {
      examples = false;
    }
  }
};

Json describe_records(FileSystem& file_system, const std::string& path) {
  const Compression compression = sniff_record_compression(*file_system.open(path));
  RecordReader reader(file_system, path, {.compression = compression});
  int64_t records = 0;
  uint64_t bytes = 0;
  Features features;
  while (const auto record = reader.next()) {
    ++records;
    bytes += record->size();
    features.add(*record);
  }
  const std::string_view name = tf_name(compression);
  Json description{{"compression", name.empty() ? "NONE" : std::string(name)},
                   {"records", records},
                   {"bytes", bytes}};
  if (!features.examples || features.features.empty()) return description;
  Json rows = Json::array();
  for (const auto& [key, feature] : features.features) {
    rows.push_back({{"name", key},
                    {"kind", std::string(feature_kind_name(feature.kind))},
                    {"records", feature.records},
                    {"least_values", feature.least},
                    {"most_values", feature.most}});
  }
  description["features"] = std::move(rows);
  return description;
}

Json describe_hlo(FileSystem& file_system, const std::string& path) {
  Json modules = Json::array();
  for (const auto& module : hlo::read_modules(read_file(file_system, path), path)) {
    Json functions = Json::array();
    for (const auto& function : module->functions()) {
      Json parameters = Json::array();
      for (int i = 0; i < function->num_parameters(); ++i) {
        parameters.push_back(function->parameter(i).type().to_string());
      }
      std::map<std::string, int> ops;
      for (const hlo::Instruction* instruction : function->instructions()) {
        ++ops[std::string(hlo::to_string(instruction->opcode()))];
      }
      functions.push_back(
          {{"name", function->name()}, {"parameters", std::move(parameters)}, {"ops", ops}});
    }
    modules.push_back({{"name", module->name()}, {"functions", std::move(functions)}});
  }
  return {{"modules", std::move(modules)}};
}

Error unknown_kind(const std::string& path) {
  const bool config = path.ends_with(".yaml") || path.ends_with(".yml");
  return invalid_argument(
      "{}: kind of file, got one that is none of ours, expected a checkpoint, SavedModel, graph, "
      "event file, TFRecord, .mlir, .mlirbc or .npy{}",
      path, config ? "; systole check tells of a configuration file" : "");
}

Json description_of(FileSystem& file_system, const FoundFile& file) {
  switch (file.kind) {
    case FileKind::checkpoint:
      return describe_checkpoint(file_system, file.path);
    case FileKind::saved_model:
      return describe_saved_model(file_system, file.path);
    case FileKind::graph:
      return {{"graph", graph_json(graph_info(*read_graph_def(file_system, file.path)))}};
    case FileKind::checkpoint_state:
      return describe_checkpoint_state(file_system, file.path);
    case FileKind::events:
      return describe_events(file_system, file.path);
    case FileKind::records:
      return describe_records(file_system, file.path);
    case FileKind::hlo:
      return describe_hlo(file_system, file.path);
    case FileKind::npy: {
      const Tensor tensor = read_npy(file_system, file.path);
      return {{"dtype", std::string(to_string(tensor.dtype()))},
              {"shape", shape_json(tensor.shape())}};
    }
    case FileKind::unknown:
      throw unknown_kind(file.path);
  }
  return {};
}

Json element_json(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::string) return tensor.data<std::string>()[index];
  if (tensor.dtype() == DType::pred) return tensor.data<bool>()[index];
  if (tensor.dtype() == DType::u64) return tensor.data<uint64_t>()[index];
  if (tensor.dtype() == DType::s64) return tensor.data<int64_t>()[index];
  if (tensor.dtype() != DType::f64) return float_json(static_cast<float>(tensor.as_double(index)));
  const double value = tensor.as_double(index);
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

Json nested(const Tensor& tensor, int axis, int64_t& index) {
  if (axis == tensor.rank()) return element_json(tensor, index++);
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.dim(axis); ++i) list.push_back(nested(tensor, axis + 1, index));
  return list;
}

}  // namespace

Json describe(FileSystem& file_system, const FoundFile& file) {
  Json description{{"kind", std::string(to_string(file.kind))}, {"path", file.path}};
  description.update(description_of(file_system, file));
  return description;
}

Tensor read_tensor(FileSystem& file_system, const FoundFile& file, const std::string& name) {
  switch (file.kind) {
    case FileKind::checkpoint:
      return BundleReader(file_system, file.path).read(name);
    case FileKind::saved_model:
      return BundleReader(file_system, saved_model_variables(file.path)).read(name);
    case FileKind::npy:
      return read_npy(file_system, file.path);
    default:
      throw invalid_argument(
          "{}: --tensor, got a file of kind '{}', expected a checkpoint or a SavedModel", file.path,
          to_string(file.kind));
  }
}

Json values_json(const Tensor& tensor) {
  const bool widen = is_integer(tensor.dtype()) && tensor.dtype() != DType::u64;
  int64_t index = 0;
  return nested(widen ? tensor.cast(DType::s64) : tensor, 0, index);
}

Json to_json(const Tensor& tensor) {
  return {{"dtype", std::string(to_string(tensor.dtype()))},
          {"shape", shape_json(tensor.shape())},
          {"values", values_json(tensor)}};
}

}  // namespace systole::app
