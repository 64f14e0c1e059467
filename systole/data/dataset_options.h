// The keyword arguments of Dataset's methods.
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
  // Threads that run the function; 0: the caller's alone; AUTOTUNE: as many as there are cores.
  int64_t num_parallel_calls = 0;
  // false: elements come in the order in which they are ready.
  bool deterministic = true;
};

struct MapAndBatchOptions {
  int64_t num_parallel_calls = 0;
  bool drop_remainder = false;
};

struct FlatMapOptions {
  // Of the elements that the function's data sets give; found by calling it when absent.
  std::optional<Nest<TensorType>> element_spec;
};

struct InterleaveOptions {
  int64_t cycle_length = 10;
  int64_t block_length = 1;
  // Threads that read ahead, a block from each data set of the cycle; 0: none.
  int64_t num_parallel_calls = 0;
  // false: elements come in the order in which they are ready.
  bool deterministic = true;
  std::optional<Nest<TensorType>> element_spec;  // as in FlatMapOptions
};

struct ShuffleOptions {
  // Without one, the graph's seed (set_random_seed); without that a new order in every run.
  std::optional<int64_t> seed;
  // A new order in every epoch of a repeat after it.
  bool reshuffle_each_iteration = true;
};

struct ListFilesOptions {
  bool shuffle = true;
  std::optional<int64_t> seed;
  FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the data set
};

struct PaddedBatchOptions {
  // One a component; what is absent is the element's own shape.
  std::optional<Nest<Shape>> padded_shapes;
  // A scalar a component, of its dtype.
  std::optional<Nest<Tensor>> padding_values;
  bool drop_remainder = false;
};

struct BucketOptions {
  // Bucket i takes lengths below bucket_boundaries[i] (and not below the one before), the last all
  // others. One batch size more than boundaries.
  std::vector<int64_t> bucket_boundaries;
  std::vector<int64_t> bucket_batch_sizes;
  std::optional<Nest<Shape>> padded_shapes;
  std::optional<Nest<Tensor>> padding_values;
  // Pads unknown dimensions to one less than the bucket's boundary: static shapes for a device.
  // A length in the last bucket is an error then.
  bool pad_to_bucket_boundary = false;
  bool drop_remainder = false;
};

struct WindowOptions {
  std::optional<int64_t> shift;  // between the begins of windows; the size when absent
  int64_t stride = 1;            // between the elements of a window
  bool drop_remainder = false;
};

struct DatasetOptions {
  // false: every parallel stage may give elements in the order in which they are ready.
  std::optional<bool> deterministic;
  // Threads of a stage with AUTOTUNE.
  std::optional<int> autotune_threads;
  // Bytes that each AUTOTUNE prefetch may hold.
  std::optional<int64_t> autotune_bytes;
};

}  // namespace systole
