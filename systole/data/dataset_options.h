// Keyword arguments of Dataset's methods.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/nest.h"
#include "systole/base/tensor.h"
#include "systole/data/iterator_options.h"

namespace systole {

struct MapOptions {
  // Threads that run the function. 0: the calling thread alone. AUTOTUNE: one for each core.
  int64_t num_parallel_calls = 0;
  // false: elements come in the order in which they become ready.
  bool deterministic = true;
};

struct MapAndBatchOptions {
  int64_t num_parallel_calls = 0;
  bool drop_remainder = false;
};

struct FlatMapOptions {
  // The type of the elements of the data sets that the function makes. Absent: found by calling it.
  std::optional<Nest<TensorType>> element_spec;
};

struct InterleaveOptions {
  int64_t cycle_length = 10;
  int64_t block_length = 1;
  // Threads that read ahead a block from each data set of the cycle. 0: none.
  int64_t num_parallel_calls = 0;
  // false: elements come in the order in which they become ready.
  bool deterministic = true;
  std::optional<Nest<TensorType>> element_spec;  // as in FlatMapOptions
};

struct ShuffleOptions {
  // Absent: the graph's seed (set_random_seed), or a new order in each run without that.
  std::optional<int64_t> seed;
  // Uses a new order in each epoch of a following repeat.
  bool reshuffle_each_iteration = true;
};

struct ListFilesOptions {
  bool shuffle = true;
  std::optional<int64_t> seed;
  FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the data set
};

struct PaddedBatchOptions {
  // One shape for each component. Absent: the shape of the elements.
  std::optional<Nest<Shape>> padded_shapes;
  // A scalar for each component, of its dtype.
  std::optional<Nest<Tensor>> padding_values;
  bool drop_remainder = false;
};

struct BucketOptions {
  // Bucket i takes lengths in [bucket_boundaries[i - 1], bucket_boundaries[i]), the last bucket all
  // others. There is one batch size more than boundaries.
  std::vector<int64_t> bucket_boundaries;
  std::vector<int64_t> bucket_batch_sizes;
  std::optional<Nest<Shape>> padded_shapes;
  std::optional<Nest<Tensor>> padding_values;
  // Pads unknown dimensions to the bucket's boundary - 1: static shapes for a device. A length in
  // the last bucket is then an error.
  bool pad_to_bucket_boundary = false;
  bool drop_remainder = false;
};

struct WindowOptions {
  std::optional<int64_t> shift;  // between the starts of windows; the size if absent
  int64_t stride = 1;            // between the elements of a window
  bool drop_remainder = false;
};

struct DatasetOptions {
  // false: every parallel stage may produce elements in the order in which they become ready.
  std::optional<bool> deterministic;
  // Threads of a stage with AUTOTUNE.
  std::optional<int> autotune_threads;
  // Bytes that each AUTOTUNE prefetch may hold.
  std::optional<int64_t> autotune_bytes;
};

}  // namespace systole
