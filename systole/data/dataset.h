// Dataset: a description of a sequence of elements. (tf.data.Dataset)
//   auto dataset = TFRecordDataset(files).map(parser).cache().repeat().batch(1024, true);
//   for (const Element& element : dataset) ...
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/base/nest.h"
#include "systole/base/tensor.h"
#include "systole/data/dataset_options.h"
#include "systole/data/graph_result.h"
#include "systole/data/iterator.h"
#include "systole/graph/core/graph.h"
#include "systole/session/host/host_function.h"

namespace systole {

// One element: a tensor, or a tuple or dict of tensors.
using Element = Nest<Tensor>;
// The type of the elements. Dimensions that differ between elements, or are unknown, are -1.
using ElementSpec = Nest<TensorType>;

class WindowedDataset;
namespace data {
class GraphFunction;
struct CallContext;
}  // namespace data

// A function written with ops, and the stage that calls it, such as "map".
struct StageFunction {
  std::string stage;
  HostFunction function;
};

// A value type: a shared immutable description, cheap to copy, thread-safe. Methods return new
// Datasets. Nothing is read before an iterator is asked for an element. A function passed to a
// method may run on any thread, and on several at once if num_parallel_calls says so. Using a
// default-constructed Dataset is FAILED_PRECONDITION. Errors of every method: INVALID_ARGUMENT for
// arguments out of range. Errors of the data come from the iterator.
class Dataset {
 public:
  using NodePtr = std::shared_ptr<const data::DatasetNode>;
  using GraphFunction = std::function<Nest<Output>(const Nest<Output>&)>;

  Dataset() = default;
  explicit Dataset(NodePtr node) : node_(std::move(node)) {}

  // A data set of one element.
  static Dataset from_tensors(const Element& element);
  static Dataset from_tensors(Tensor tensor) { return from_tensors(Element(std::move(tensor))); }
  // The values of graph tensors at the time when an iterator is initialized: see parameters().
  static Dataset from_tensors(const Nest<Output>& tensors);
  // One element for each row along the first dimension of all tensors.
  static Dataset from_tensor_slices(const Element& tensors);
  static Dataset from_tensor_slices(const Nest<Output>& tensors);
  static Dataset from_tensor_slices(std::initializer_list<Nest<Output>> tensors) {
    return from_tensor_slices(Nest<Output>::tuple(tensors));
  }
  // One element for each value: from_tensor_slices({1, 2, 3}), from_tensor_slices(std::vector{"a",
  // "b"}).
  template <class T>
  static Dataset from_tensor_slices(const std::vector<T>& values);
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_convertible_v<T, std::string>
  static Dataset from_tensor_slices(std::initializer_list<T> values) {
    return from_tensor_slices(std::vector<T>(values));
  }
  // s64 scalars in [start, stop).
  static Dataset range(int64_t stop);
  static Dataset range(int64_t start, int64_t stop, int64_t step = 1);
  // Bounds that are integer scalars of a graph: see parameters().
  static Dataset range(const Input& stop);
  static Dataset range(const Input& start, const Input& stop, const Input& step = int64_t{1});
  // `make` returns a new generator for each iterator. A generator returns one element a call, then
  // nullopt. The saved state is the number of elements taken: restoring generates them again.
  using Generator = std::function<std::optional<Element>()>;
  static Dataset from_generator(std::function<Generator()> make, ElementSpec spec);
  // Names of the files that match a pattern, sorted, then shuffled for each iteration unless
  // options say otherwise. Patterns: io/file_systems/file_pattern.h. Errors: NOT_FOUND if a pattern
  // matches no file.
  static Dataset list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options = {});
  static Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>{pattern}, options);
  }
  static Dataset list_files(std::initializer_list<std::string> patterns,
                            const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>(patterns), options);
  }
  // Patterns that are a string scalar or vector of a graph: see parameters().
  static Dataset list_files(const Output& patterns, const ListFilesOptions& options = {});
  // Combines the i-th elements of all data sets, until the first ends. The structure is that of
  // `datasets`.
  static Dataset zip(const Nest<Dataset>& datasets);
  static Dataset zip(std::initializer_list<Nest<Dataset>> datasets) {
    return zip(Nest<Dataset>::tuple(datasets));
  }
  // Draws each element from one of `datasets` at random, with these weights (equal if empty), until
  // all with a weight above 0 have ended.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const std::vector<double>& weights = {},
                                      std::optional<int64_t> seed = std::nullopt);

  // --- transformations of elements ---

  // `fn` is written with ops and traced once. A tuple is passed as one nest, or as separate
  // arguments: map([](Output image, Output label) {...}). `fn` returns an Output, a Nest, or a
  // std::pair or std::tuple of these: return std::pair(image, label).
  template <class F>
  Dataset map(F fn, const MapOptions& options = {}) const {
    return map_graph(graph_function(std::move(fn)), options);
  }
  // A function that was traced before, or loaded. Errors: INVALID_ARGUMENT if it takes other
  // elements.
  Dataset map(HostFunction fn, const MapOptions& options = {}) const;
  // `fn` is plain C++ and cannot be saved with the graph. Its results are checked against `spec`.
  // Errors that it throws name the element.
  Dataset map_cpp(std::function<Element(const Element&)> fn, ElementSpec spec,
                  const MapOptions& options = {}) const;
  // Keeps the elements for which `predicate` returns true (a pred scalar). Errors that it throws
  // name the element.
  template <class F>
  Dataset filter(F predicate) const {
    return filter_graph(graph_function(std::move(predicate)));
  }
  Dataset filter_cpp(std::function<bool(const Element&)> predicate) const;
  // Concatenates the data sets that `fn` makes of the elements. `fn` is one of:
  //   [](const Dataset& element)   traced once: takes a data set of one element; the data set that
  //   it
  //                                returns runs for each element. [](const Dataset& file) {
  //                                return TFRecordDataset(file).map(parser); }
  //   [](const Element& element)   C++, called for each element; also called here once, with zeros
  //                                and empty strings, unless options give the element_spec
  //   [](Output x)                 written with ops: returns tensors, whose rows are the elements
  using DatasetFunction = std::function<Dataset(const Element&)>;
  using TracedFunction = std::function<Dataset(const Dataset&)>;
  template <class F>
  Dataset flat_map(F fn, const FlatMapOptions& options = {}) const {
    if constexpr (std::is_invocable_r_v<Dataset, F, const Element&>) {
      return flat_map_called(std::move(fn), options);
    } else if constexpr (std::is_invocable_r_v<Dataset, F, const Dataset&>) {
      return flat_map_traced(std::move(fn), options);
    } else {
      return map(std::move(fn)).unbatch();
    }
  }
  // Takes `block_length` elements in turn from each of `cycle_length` data sets that `fn` makes.
  // `fn` is of the first or second form that flat_map takes.
  template <class F>
  Dataset interleave(F fn, const InterleaveOptions& options = {}) const {
    if constexpr (std::is_invocable_r_v<Dataset, F, const Element&>) {
      return interleave_called(std::move(fn), options);
    } else {
      return interleave_traced(std::move(fn), options);
    }
  }
  Dataset concatenate(const Dataset& other) const;
  // (s64 index, element)
  Dataset enumerate(int64_t start = 0) const;
  // -1 takes all.
  Dataset take(int64_t count) const;
  // -1 skips all.
  Dataset skip(int64_t count) const;
  // Keeps the elements index, index + num_shards, index + 2 * num_shards...
  Dataset shard(int64_t num_shards, int64_t index) const;
  // -1 repeats without end. Ends if an epoch has no elements.
  Dataset repeat(int64_t count = -1) const;
  // Draws elements at random from a buffer of the next `buffer_size` elements.
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset shuffle_and_repeat(int64_t buffer_size, int64_t count = -1,
                             std::optional<int64_t> seed = std::nullopt) const;

  // --- batches and windows ---

  // A preceding map whose function can be vectorized runs once a batch, with the same results. If
  // the function fails, its whole batch is dropped; a take or skip in between has counted the
  // element. Errors while running: INVALID_ARGUMENT, with both shapes, if shapes differ within a
  // batch.
  Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
  // Pads elements of different shapes. An unknown dimension of `padded_shapes` becomes the largest
  // of the batch, a known one is used as given. Pads with zeros and empty strings unless
  // `padding_values` are given.
  Dataset padded_batch(int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset unbatch() const;
  // `element_length` is written with ops and returns an s32 or s64 scalar, or is plain C++.
  template <class F>
  Dataset bucket_by_sequence_length(F element_length, const BucketOptions& options) const {
    if constexpr (std::is_invocable_r_v<int64_t, F, const Element&>) {
      return bucket_cpp(std::move(element_length), options);
    } else {
      return bucket_graph(graph_function(std::move(element_length)), options);
    }
  }
  WindowedDataset window(int64_t size, const WindowOptions& options = {}) const;
  template <class F>
  Dataset map_and_batch(F fn, int64_t batch_size, const MapAndBatchOptions& options = {}) const {
    return map(std::move(fn), {.num_parallel_calls = options.num_parallel_calls})
        .batch(batch_size, options.drop_remainder);
  }

  // --- sizes and counts that are integers of a graph ---

  // All are s32 or s64 scalars: see parameters(). The first dimension of batches is unknown. A
  // number out of range is an error of the initializer.
  Dataset take(const Input& count) const;
  Dataset skip(const Input& count) const;
  Dataset shard(const Input& num_shards, const Input& index) const;
  Dataset repeat(const Input& count) const;
  Dataset shuffle(const Input& buffer_size, const ShuffleOptions& options = {}) const;
  Dataset batch(const Input& batch_size, bool drop_remainder = false) const;
  Dataset padded_batch(const Input& batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset prefetch(const Input& buffer_size) const;

  // --- buffering and execution ---

  // Keeps the elements of the first epoch in memory, or in a file for this run and later ones. The
  // file appears complete or not at all.
  Dataset cache() const;
  Dataset cache(const std::string& path, FileSystem* file_system = nullptr) const;
  // Produces up to `buffer_size` elements ahead on its own thread. 0 produces none ahead and uses
  // no thread.
  Dataset prefetch(int64_t buffer_size = AUTOTUNE) const;
  // Drops elements that fail, and logs how many and the first error.
  Dataset ignore_errors() const;
  // Sets AUTOTUNE, determinism and memory of all stages before it.
  Dataset options(const DatasetOptions& options) const;
  // Declares shapes. An element of another shape is an error.
  Dataset set_shape(const Nest<Shape>& shapes) const;
  // transformation(*this)
  Dataset apply(const std::function<Dataset(const Dataset&)>& transformation) const {
    return transformation(*this);
  }

  // --- iteration ---

  const ElementSpec& element_spec() const;
  Iterator make_iterator(const IteratorOptions& options = {}) const;
  OneShotIterator make_one_shot_iterator(const IteratorOptions& options = {}) const;
  InitializableIterator make_initializable_iterator(const IteratorOptions& options = {}) const;
  // Range-for. Each begin() starts a new iterator.
  class RangeIterator;
  RangeIterator begin() const;
  static std::default_sentinel_t end() { return {}; }

  // "range(10).batch(3)"
  std::string to_string() const;
  // Returns the functions written with ops, from the source on. Functions inside functions of data
  // sets come before the stage that runs them. They can be printed, saved, and loaded by another
  // host (session/host/host_function.h). Functions of map_cpp and similar methods are not included.
  std::vector<StageFunction> functions() const;
  // Returns the graph tensors (placeholders or what is computed from them) whose values sources,
  // functions, sizes and counts take when an iterator is initialized. A data set with parameters
  // runs only in a session, through the initializer of make_initializable_iterator(); running it
  // any other way is INVALID_ARGUMENT. Tensors computed from constants alone are not parameters.
  std::vector<Output> parameters() const;
  bool valid() const { return node_ != nullptr; }
  // Errors: FAILED_PRECONDITION when not valid().
  const NodePtr& node() const;

 private:
  Dataset map_graph(const GraphFunction& fn, const MapOptions& options) const;
  Dataset filter_graph(const GraphFunction& predicate) const;
  Dataset flat_map_called(DatasetFunction fn, const FlatMapOptions& options) const;
  Dataset flat_map_traced(const TracedFunction& fn, const FlatMapOptions& options) const;
  Dataset interleave_called(DatasetFunction fn, const InterleaveOptions& options) const;
  Dataset interleave_traced(const TracedFunction& fn, const InterleaveOptions& options) const;
  Dataset bucket_cpp(std::function<int64_t(const Element&)> element_length,
                     const BucketOptions& options) const;
  Dataset bucket_graph(const GraphFunction& element_length, const BucketOptions& options) const;
  using LengthFunction =
      std::function<int64_t(const Components&, int64_t index, const data::CallContext& calling)>;
  Dataset bucket(LengthFunction length, const BucketOptions& options,
                 std::shared_ptr<const data::GraphFunction> graph = nullptr) const;
  HostFunction trace(const GraphFunction& fn) const;
  template <class F>
  static GraphFunction graph_function(F fn);
  // Errors: INVALID_ARGUMENT unless `element` is a tuple of `count` elements.
  static void check_arguments(const Nest<Output>& element, size_t count);

  NodePtr node_;
};

// The result of window(): elements that are data sets themselves, one for each component.
class WindowedDataset {
 public:
  using WindowFunction = std::function<Dataset(const Nest<Dataset>&)>;

  // Concatenates the data sets that `fn` makes of the windows. `fn` is traced once. It takes data
  // sets for the components of a window: as one nest, or, for one component or a tuple of two, as
  // separate arguments: [](const Dataset& window) { return window.batch(5); }.
  template <class F>
  Dataset flat_map(F fn) const {
    if constexpr (std::is_convertible_v<F, WindowFunction>) {
      return flat_map_traced(fn);
    } else if constexpr (std::is_invocable_r_v<Dataset, F&, const Dataset&>) {
      return flat_map_traced([&](const Nest<Dataset>& window) { return fn(window.leaf()); });
    } else {
      return flat_map_traced([&](const Nest<Dataset>& window) {
        if (!window.is_tuple() || window.size() != 2) not_two(window);
        return fn(window[0].leaf(), window[1].leaf());
      });
    }
  }

 private:
  friend class Dataset;
  Dataset flat_map_traced(const WindowFunction& fn) const;
  [[noreturn]] static void not_two(const Nest<Dataset>& window);
  WindowedDataset(Dataset::NodePtr rows, ElementSpec spec)
      : rows_(std::move(rows)), spec_(std::move(spec)) {}
  Dataset::NodePtr rows_;  // windows as elements with stacked components
  ElementSpec spec_;       // of the elements in a window
};

class Dataset::RangeIterator {
 public:
  using value_type = Element;
  using difference_type = std::ptrdiff_t;

  explicit RangeIterator(const Dataset& dataset);
  const Element& operator*() const { return *element_; }
  RangeIterator& operator++() {
    element_ = iterator_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !element_.has_value(); }

 private:
  std::shared_ptr<Iterator> iterator_;
  std::optional<Element> element_;
};

inline Dataset::RangeIterator Dataset::begin() const { return RangeIterator(*this); }

template <class T>
Dataset Dataset::from_tensor_slices(const std::vector<T>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if constexpr (std::is_convertible_v<T, std::string>) {
    return from_tensor_slices(
        Element(Tensor::of(shape, std::vector<std::string>(values.begin(), values.end()))));
  } else {
    return from_tensor_slices(Element(Tensor::of(shape, values)));
  }
}

template <class F>
Dataset::GraphFunction Dataset::graph_function(F fn) {
  using N = Nest<Output>;
  if constexpr (std::is_convertible_v<F, GraphFunction>) {
    return fn;
  } else if constexpr (std::is_invocable_v<F&, const N&>) {
    return [fn](const N& x) mutable { return data::to_nest(fn(x)); };
  } else if constexpr (std::is_invocable_v<F&, const N&, const N&>) {
    return
        [fn](const N& x) mutable { return check_arguments(x, 2), data::to_nest(fn(x[0], x[1])); };
  } else if constexpr (std::is_invocable_v<F&, const N&, const N&, const N&>) {
    return [fn](const N& x) mutable {
      return check_arguments(x, 3), data::to_nest(fn(x[0], x[1], x[2]));
    };
  } else if constexpr (std::is_invocable_v<F&, const N&, const N&, const N&, const N&>) {
    return [fn](const N& x) mutable {
      return check_arguments(x, 4), data::to_nest(fn(x[0], x[1], x[2], x[3]));
    };
  } else {
    static_assert(data::kNever<F>,
                  "a function of a data set that is written with ops takes the element, as a "
                  "Nest<Output> or an Output, or its two to four components. (One whose body has "
                  "an error cannot be called either; the compiler reports that error as well.)");
  }
}

// Forms for apply(), as in tf.contrib.data: dataset.apply(batch_and_drop_remainder(1024)).
std::function<Dataset(const Dataset&)> batch_and_drop_remainder(int64_t batch_size);
std::function<Dataset(const Dataset&)> shuffle_and_repeat(
    int64_t buffer_size, int64_t count = -1, std::optional<int64_t> seed = std::nullopt);
std::function<Dataset(const Dataset&)> unbatch();
std::function<Dataset(const Dataset&)> ignore_errors();
template <class F>
std::function<Dataset(const Dataset&)> map_and_batch(F fn, int64_t batch_size,
                                                     const MapAndBatchOptions& options = {}) {
  return [=](const Dataset& dataset) { return dataset.map_and_batch(fn, batch_size, options); };
}

}  // namespace systole
