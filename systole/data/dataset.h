// Dataset: a description of elements and how they come about. (tf.data.Dataset)
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
#include "systole/graph/api/graph.h"
#include "systole/session/host/host_function.h"

namespace systole {

// One element: a tensor, or a tuple or dict of such.
using Element = Nest<Tensor>;
// Its type: dimensions that differ between elements, or are not known, are -1.
using ElementSpec = Nest<TensorType>;

class WindowedDataset;
namespace data {
class GraphFunction;
struct CallContext;
}  // namespace data

// A function written with ops, and the stage that calls it: "map".
struct StageFunction {
  std::string stage;
  HostFunction function;
};

// A value type: a shared immutable description, cheap to copy, thread-safe. Methods return new
// Datasets; nothing is read before an iterator is asked for an element. A function given to one may
// run on any thread and on several at once when num_parallel_calls says so. A default-constructed
// Dataset is empty-handed: using it is FAILED_PRECONDITION. Errors of every method:
// INVALID_ARGUMENT for arguments out of range; those of running it come from the iterator.
class Dataset {
 public:
  using NodePtr = std::shared_ptr<const data::DatasetNode>;
  using GraphFunction = std::function<Nest<Output>(const Nest<Output>&)>;

  Dataset() = default;
  explicit Dataset(NodePtr node) : node_(std::move(node)) {}

  // One element.
  static Dataset from_tensors(const Element& element);
  static Dataset from_tensors(Tensor tensor) { return from_tensors(Element(std::move(tensor))); }
  // What the tensors of a graph are when an iterator is initialised: see parameters().
  static Dataset from_tensors(const Nest<Output>& tensors);
  // An element for each row of the first dimension of all tensors.
  static Dataset from_tensor_slices(const Element& tensors);
  static Dataset from_tensor_slices(const Nest<Output>& tensors);
  static Dataset from_tensor_slices(std::initializer_list<Nest<Output>> tensors) {
    return from_tensor_slices(Nest<Output>::tuple(tensors));
  }
  // from_tensor_slices({1, 2, 3}), from_tensor_slices(std::vector{"a", "b"}): of one vector.
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
  // Integer scalars of a graph, as from_tensors has them.
  static Dataset range(const Input& stop);
  static Dataset range(const Input& start, const Input& stop, const Input& step = int64_t{1});
  // `make` gives a fresh generator for each iterator; a generator gives element after element, then
  // nullopt. A saved state has the number of elements taken: restoring generates them again.
  using Generator = std::function<std::optional<Element>()>;
  static Dataset from_generator(std::function<Generator()> make, ElementSpec spec);
  // Names of the files that match ('*', '?' and '[a-z]' within a name), sorted, then shuffled
  // anew for each iteration unless told otherwise. Errors: NOT_FOUND when a pattern matches none.
  static Dataset list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options = {});
  static Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>{pattern}, options);
  }
  static Dataset list_files(std::initializer_list<std::string> patterns,
                            const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>(patterns), options);
  }
  // Patterns that are a text or a vector of texts of a graph, as from_tensors has them.
  static Dataset list_files(const Output& patterns, const ListFilesOptions& options = {});
  // Elements of all side by side, until the first ends; the structure is that of `datasets`.
  static Dataset zip(const Nest<Dataset>& datasets);
  static Dataset zip(std::initializer_list<Nest<Dataset>> datasets) {
    return zip(Nest<Dataset>::tuple(datasets));
  }
  // Each element from one of `datasets`, drawn with these weights (equal when none), until all that
  // have a weight above 0 have ended.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const std::vector<double>& weights = {},
                                      std::optional<int64_t> seed = std::nullopt);

  // --- one element after another ---

  // `fn` is written with ops and traced once; a tuple is given as one nest, or to a function of as
  // many arguments one by one: map([](Output image, Output label) {...}). It returns an Output, a
  // Nest, or a std::pair or std::tuple of such, which is a tuple: return std::pair(image, label).
  template <class F>
  Dataset map(F fn, const MapOptions& options = {}) const {
    return map_graph(graph_function(std::move(fn)), options);
  }
  // One that was traced before, or loaded. Errors: INVALID_ARGUMENT when it takes other elements.
  Dataset map(HostFunction fn, const MapOptions& options = {}) const;
  // `fn` is plain C++ and stays on this machine. What it returns is checked against `spec`.
  // An exception of it names the element.
  Dataset map_cpp(std::function<Element(const Element&)> fn, ElementSpec spec,
                  const MapOptions& options = {}) const;
  // Keeps the elements for which `predicate` gives true (a pred scalar). An exception of either
  // names the element.
  template <class F>
  Dataset filter(F predicate) const {
    return filter_graph(graph_function(std::move(predicate)));
  }
  Dataset filter_cpp(std::function<bool(const Element&)> predicate) const;
  // The elements of the data sets that `fn` makes, one data set after another. `fn` is one of:
  //   [](const Dataset& element)   traced once: it is given a data set of one element, and what it
  //                                makes of that is run for each. [](const Dataset& file) {
  //                                return TFRecordDataset(file).map(parser); }
  //   [](const Element& element)   C++, called for each; and once here, with zeros and empty texts,
  //                                for the spec, unless options give it
  //   [](Output x)                 written with ops: gives tensors, whose rows are the elements
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
  // `block_length` elements from each of `cycle_length` data sets in turn, which `fn` makes: the
  // first or the second of what flat_map takes.
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
  // -1: all.
  Dataset take(int64_t count) const;
  // -1: all are skipped.
  Dataset skip(int64_t count) const;
  // Elements index, index + num_shards...
  Dataset shard(int64_t num_shards, int64_t index) const;
  // -1: without end, unless an epoch gives nothing.
  Dataset repeat(int64_t count = -1) const;
  // Draws from a buffer that holds the next `buffer_size` elements.
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset shuffle_and_repeat(int64_t buffer_size, int64_t count = -1,
                             std::optional<int64_t> seed = std::nullopt) const;

  // --- several elements to one, and back ---

  // A map before it whose function has a form for batches is called once a batch, with the same
  // results, unless it fails: its batch is then left out, and a take or skip between the two has
  // counted the element. Errors while running: INVALID_ARGUMENT, with both, when shapes differ
  // within a batch.
  Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
  // Shapes may differ: unknown dimensions of `padded_shapes` become the batch's largest, known
  // ones are what they say. Padding is zeros and empty texts unless `padding_values` say otherwise.
  Dataset padded_batch(int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset unbatch() const;
  // `element_length` is written with ops and gives an s32 or s64 scalar, or is plain C++.
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

  // --- the same by an integer of a graph: what it is when an iterator is initialised ---

  // All are s32 or s64 scalars: see parameters(). Batches then have a first dimension that is not
  // known. A number out of range is an error of the initializer.
  Dataset take(const Input& count) const;
  Dataset skip(const Input& count) const;
  Dataset shard(const Input& num_shards, const Input& index) const;
  Dataset repeat(const Input& count) const;
  Dataset shuffle(const Input& buffer_size, const ShuffleOptions& options = {}) const;
  Dataset batch(const Input& batch_size, bool drop_remainder = false) const;
  Dataset padded_batch(const Input& batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset prefetch(const Input& buffer_size) const;

  // --- how it runs ---

  // Keeps the first epoch in memory, or in a file for this and later runs. The file appears
  // complete or not at all.
  Dataset cache() const;
  Dataset cache(const std::string& path, FileSystem* file_system = nullptr) const;
  // Up to `buffer_size` elements are made ahead, on a thread of its own; 0: none, without one.
  Dataset prefetch(int64_t buffer_size = AUTOTUNE) const;
  // Drops elements that fail, and says in the log how many and the first's message.
  Dataset ignore_errors() const;
  // AUTOTUNE, determinism and memory for all stages before it.
  Dataset options(const DatasetOptions& options) const;
  // Declares what is known better: an element that does not fit is an error.
  Dataset set_shape(const Nest<Shape>& shapes) const;
  // transformation(*this)
  Dataset apply(const std::function<Dataset(const Dataset&)>& transformation) const {
    return transformation(*this);
  }

  // --- running it ---

  const ElementSpec& element_spec() const;
  // Errors: INVALID_ARGUMENT names the component, its unknown dimension and how to make it known.
  // `who` needs the static shape: "TPUEstimator".
  void check_static(std::string_view who) const;
  Iterator make_iterator(const IteratorOptions& options = {}) const;
  OneShotIterator make_one_shot_iterator(const IteratorOptions& options = {}) const;
  InitializableIterator make_initializable_iterator(const IteratorOptions& options = {}) const;
  // Range-for: every begin() starts anew.
  class RangeIterator;
  RangeIterator begin() const;
  static std::default_sentinel_t end() { return {}; }

  // "range(10).batch(3)"
  std::string to_string() const;
  // The functions written with ops, as they run: from the source on, those in functions of data
  // sets before the stage that runs them. They can be printed, saved, and loaded by another host
  // (session/host_function.h). What map_cpp and its like call is none of them.
  std::vector<StageFunction> functions() const;
  // The tensors of a graph, placeholders or what follows from them, that sources, functions and the
  // sizes and counts of transformations take the values of when an iterator is initialised. A data
  // set that has some runs in a session, by the initializer of make_initializable_iterator();
  // anything else that runs it is INVALID_ARGUMENT. A tensor that follows from constants alone is
  // none.
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
  // Errors: INVALID_ARGUMENT unless `element` is a tuple of `count`.
  static void check_arguments(const Nest<Output>& element, size_t count);

  NodePtr node_;
};

// What window() gives: elements that are themselves data sets, one a component.
class WindowedDataset {
 public:
  using WindowFunction = std::function<Dataset(const Nest<Dataset>&)>;

  // The elements of the data sets that `fn` makes of the windows. `fn` is traced once: it is given
  // data sets that stand for the components of any window, as one nest, or, where they are one or a
  // tuple of two, as they are: [](const Dataset& window) { return window.batch(5); }.
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
  Dataset::NodePtr rows_;  // each window as one element, its components stacked
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
                  "an error, which the compiler tells beside this, cannot be called either.)");
  }
}

// As tf.contrib.data has them: dataset.apply(batch_and_drop_remainder(1024)).
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
