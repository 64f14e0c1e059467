// Input pipelines as YAML, for `systole data bench`. A list of stages, each a name and its
// argument:
//   - tfrecord: out/train-*            # or {files: [..], compression_type: GZIP,
//   num_parallel_reads: 2}
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
// or on one line: [tfrecord: out/train-*, shuffle: 10000, batch: 1024]. An op may stand among the
// stages too, as a map of its own.
//   sources  tfrecord, text_line, idx, npy: files; fixed_length: {files, record_bytes}; range: n
//   stages   map, shuffle, repeat, batch, prefetch, take, skip, shard: [count, index], cache,
//            enumerate, unbatch
//   ops      parse_single_example and parse_example: {feature: dtype, or {dtype, shape}, or
//            {var_len: dtype}}; decode_raw and cast: dtype; reshape: sizes; scale: [factor,
//            offset]. The last four take the argument for each feature, or one for an element
//            without names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "systole/data/dataset.h"

namespace YAML {
class Node;
}

namespace systole::app {

struct Pipeline {
  Dataset dataset;
  bool batched = false;                   // the first dimension counts examples
  std::vector<std::string> record_files;  // of a tfrecord source
  std::string compression;
};

// Errors: INVALID_ARGUMENT `pipeline:<line>: <what>, got <value>, expected <value>`; those of the
// stages.
Pipeline parse_pipeline(const std::string& yaml);

using GraphOp = std::function<Nest<Output>(const Nest<Output>&)>;
// Whether `name` is one of the ops.
bool is_pipeline_op(const std::string& name);
std::vector<std::string> pipeline_op_names();
GraphOp parse_pipeline_op(const std::string& name, const YAML::Node& argument);

// `node` as a T. Errors: INVALID_ARGUMENT, with the line, the stage and what is wanted.
template <class T>
T yaml_value(const YAML::Node& node, const std::string& stage, const char* wanted);
Error yaml_error(const YAML::Node& node, const std::string& stage, const std::string& got,
                 const std::string& wanted);

}  // namespace systole::app
