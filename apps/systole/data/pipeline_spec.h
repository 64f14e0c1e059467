// Input pipelines as YAML, for `systole data bench` and for training. A list of stages, each a name
// and its argument:
//   - tfrecord: out/train-*            # or {files: [..], compression_type: GZIP}
//   - map:
//       num_parallel_calls: 2
//       ops:
//         - parse_single_example: {image_raw: string, label: int64}
//         - decode_raw: {image_raw: uint8}
//         - reshape: {image_raw: [784]}
//         - cast: {image_raw: float32}
//         - scale: {image_raw: [0.00392156862745098, -0.5]}
//   - shuffle: 10000
//   - batch: {batch_size: 1024, drop_remainder: true}
//   - prefetch: 2
// or on one line: [tfrecord: out/train-*, shuffle: 10000, batch: 1024]. An op among the stages is
// short for a map with that op. The tables below list all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/systole/config/config_section.h"
#include "systole/data/dataset.h"

namespace systole::app {

struct Pipeline {
  Dataset dataset;
  bool batched = false;                   // the first dimension counts examples
  std::vector<std::string> record_files;  // of a tfrecord source
  std::string compression;
  int64_t parallel_reads = 0;  // of them; AUTOTUNE as everywhere
};

// The surroundings of a pipeline.
struct PipelineScope {
  PipelineScope(
      std::string in_folder = "")  // NOLINT(google-explicit-constructor): most have no more
      : folder(std::move(in_folder)) {}

  // Folder of relative file names; empty for the working directory.
  std::string folder;
  // The element of the enclosing interleave or flat_map, as a data set.
  std::optional<Dataset> element;

  std::string path_of(const std::string& file) const;
};

// Errors: INVALID_ARGUMENT `<file>:<line>: <what>, got <value>, expected <value>`; those of the
// stages.
Pipeline parse_pipeline(const ConfigNode& stages, const PipelineScope& scope = {});
Pipeline parse_pipeline(const std::string& yaml, const std::string& file = "pipeline");

using GraphOp = std::function<Nest<Output>(const Nest<Output>&)>;
// Whether `name` is one of the ops.
bool is_pipeline_op(const std::string& name);
std::vector<std::string> pipeline_op_names();
GraphOp parse_pipeline_op(const std::string& name, const ConfigNode& argument,
                          const PipelineScope& scope = {});

// The tables of sources, stages and ops, also for the documentation.
struct PipelineSource {
  const char* name;
  const char* meaning;
  std::span<const ConfigKey> keys;
  Pipeline (*make)(const ConfigSection& argument, const PipelineScope& scope);
};
// The function of a stage on single examples and on batches.
enum class Gives : uint8_t { what_it_gets, batches, examples };
struct PipelineStage {
  const char* name;
  const char* meaning;
  std::span<const ConfigKey> keys;
  Dataset (*apply)(const Dataset& dataset, const ConfigSection& argument,
                   const PipelineScope& scope);
  Gives gives = Gives::what_it_gets;
};
// The function of an op on one feature.
using Change = std::function<Output(const Output&)>;
struct PipelineOp {
  const char* name;
  const char* argument;  // for each feature, or for an element without names; "" for none
  const char* meaning;
  // Null for an op that parses a record to features.
  Change (*change)(const ConfigNode& argument, const std::string& op,
                   const PipelineScope& scope) = nullptr;
};
std::span<const PipelineSource> pipeline_sources();
std::span<const PipelineStage> pipeline_stages();
std::span<const PipelineOp> pipeline_ops();

// An integer, or AUTOTUNE, which is -1. Errors have the place.
int64_t integer_or_autotune(const ConfigSection& argument, const std::string& key,
                            int64_t otherwise);

// A dtype by TensorFlow's name. Errors have the place.
DType config_dtype(const ConfigNode& node, const std::string& what);

}  // namespace systole::app
