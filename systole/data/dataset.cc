// Dataset's methods: they check arguments and make nodes.
#include "systole/data/dataset.h"

#include "systole/data/nodes.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole {
namespace {

using data::Spec;

Spec spec_of(const Element& element) {
  return element.map([](const Tensor& tensor) { return tensor.type(); });
}

// Returns types that fit both; dimensions in which they differ are unknown.
TensorType join(std::string_view op, const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) {
    throw invalid_argument("{}: element type, got {}, expected {} as of the first", op, b, a);
  }
  TensorType result = a;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] != b.shape[d]) result.shape.set_dim(d, kUnknown);
  }
  return result;
}

Spec join(std::string_view op, const Spec& a, const Spec& b) {
  if (a.structure() != b.structure()) {
    throw invalid_argument("{}: element structure, got {}, expected {} as of the first", op,
                           b.to_string(), a.to_string());
  }
  std::vector<TensorType> types = a.flatten();
  const std::vector<TensorType> others = b.flatten();
  for (size_t i = 0; i < types.size(); ++i) types[i] = join(op, types[i], others[i]);
  return pack_like(a, std::move(types));
}

}  // namespace

const Dataset::NodePtr& Dataset::node() const {
  if (node_ == nullptr)
    throw failed_precondition("Dataset: got a default-constructed one, expected a data set");
  return node_;
}

const ElementSpec& Dataset::element_spec() const { return node()->spec(); }

std::string Dataset::to_string() const { return node()->to_string(); }

void Dataset::check_arguments(const Nest<Output>& element, size_t count) {
  if (element.is_tuple() && element.size() == count) return;
  throw invalid_argument(
      "Dataset: function of {} arguments, got elements {}, expected tuples of {}; a function of "
      "one argument, const Nest<Output>&, takes any",
      count, element.to_string(), count);
}

Dataset Dataset::from_tensors(const Element& element) {
  Spec spec = spec_of(element);
  element.for_each([](const Tensor& tensor) {
    if (!tensor.valid()) throw invalid_argument("from_tensors: tensor, got none, expected one");
  });
  return Dataset(data::tensors_node(std::move(spec), element.flatten()));
}

Dataset Dataset::from_tensor_slices(const Element& tensors) {
  const std::vector<Tensor> components = tensors.flatten();
  if (components.empty()) {
    throw invalid_argument("from_tensor_slices: structure, got (), expected at least one tensor");
  }
  data::check_slices(components);
  Spec spec = tensors.map([](const Tensor& tensor) {
    return TensorType{tensor.dtype(), data::without_first(tensor.shape())};
  });
  return Dataset(data::slices_node(std::move(spec), components));
}

Dataset Dataset::range(int64_t stop) { return range(0, stop); }

Dataset Dataset::range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) throw invalid_argument("range: step, got 0, expected another number");
  return Dataset(data::range_node(start, stop, step));
}

Dataset Dataset::from_generator(std::function<Generator()> make, ElementSpec spec) {
  data::check_function("from_generator", make);
  return Dataset(data::generator_node(std::move(make), std::move(spec)));
}

Dataset Dataset::zip(const Nest<Dataset>& datasets) {
  std::vector<NodePtr> nodes;
  datasets.for_each([&](const Dataset& dataset) { nodes.push_back(dataset.node()); });
  if (nodes.empty()) throw invalid_argument("zip: data sets, got none, expected at least one");
  // A nest of nests flattens in the order of the data sets.
  const auto nested = [](const auto& self, const Nest<Dataset>& part) -> Spec {
    if (part.is_leaf()) return part.leaf().element_spec();
    std::vector<Spec> elements;
    for (const Nest<Dataset>& element : part) elements.push_back(self(self, element));
    if (part.is_tuple()) return Spec::tuple(std::move(elements));
    std::vector<Spec::Entry> entries;
    for (size_t i = 0; i < elements.size(); ++i) {
      entries.emplace_back(part.names()[i], std::move(elements[i]));
    }
    return Spec::dict(std::move(entries));
  };
  return Dataset(data::zip_node(std::move(nodes), nested(nested, datasets)));
}

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const std::vector<double>& weights,
                                      std::optional<int64_t> seed) {
  if (datasets.empty()) {
    throw invalid_argument("sample_from_datasets: data sets, got none, expected at least one");
  }
  std::vector<double> all = weights;
  if (all.empty()) all.assign(datasets.size(), 1.0);
  if (all.size() != datasets.size()) {
    throw invalid_argument("sample_from_datasets: weights, got {}, expected {}, one a data set",
                           all.size(), datasets.size());
  }
  for (const double weight : all) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    throw invalid_argument("sample_from_datasets: weight, got {}, expected at least 0", weight);
  }
  if (std::ranges::all_of(all, [](double weight) { return weight == 0; })) {
    throw invalid_argument("sample_from_datasets: weights, got only 0, expected one above it");
  }
  std::vector<NodePtr> nodes;
  Spec spec = datasets.front().element_spec();
  for (const Dataset& dataset : datasets) {
    spec = join("sample_from_datasets", spec, dataset.element_spec());
    nodes.push_back(dataset.node());
  }
  return Dataset(data::sample_node(std::move(nodes), std::move(spec), std::move(all),
                                   data::resolve_seed(seed)));
}

Dataset Dataset::map_cpp(std::function<Element(const Element&)> fn, ElementSpec spec,
                         const MapOptions& options) const {
  data::check_calls("map_cpp", options.num_parallel_calls);
  data::check_function("map_cpp", fn);
  data::RowFunction rows = [fn = std::move(fn), from = element_spec(), spec,
                            types = spec.flatten()](Components&& row, int64_t index) {
    Element result;
    try {
      result = fn(data::to_element(from, std::move(row)));
    } catch (...) {
      throw data::current_error().with_context(fmt::format("map_cpp: element {}", index));
    }
    if (result.structure() != spec.structure()) {
      throw invalid_argument("map_cpp: result for element {}, got {}, expected {}", index,
                             result.to_string(), spec.to_string());
    }
    Components flat = result.flatten();
    data::check_row("map_cpp", flat, types, index);
    return flat;
  };
  return Dataset(data::map_node("map_cpp", node(), std::move(spec),
                                {.fn = std::move(rows),
                                 .num_parallel_calls = options.num_parallel_calls,
                                 .deterministic = options.deterministic}));
}

Dataset Dataset::filter_cpp(std::function<bool(const Element&)> predicate) const {
  data::check_function("filter_cpp", predicate);
  return Dataset(data::filter_node(
      node(), [predicate = std::move(predicate), spec = element_spec()](
                  const Components& row, int64_t index, const data::CallContext&) {
        try {
          return predicate(data::to_element(spec, row));
        } catch (...) {
          throw data::current_error().with_context(fmt::format("filter_cpp: element {}", index));
        }
      }));
}

Dataset Dataset::concatenate(const Dataset& other) const {
  Spec spec = join("concatenate", element_spec(), other.element_spec());
  return Dataset(data::concatenate_node(node(), other.node(), std::move(spec)));
}

Dataset Dataset::enumerate(int64_t start) const {
  return Dataset(data::enumerate_node(node(), start));
}

Dataset Dataset::take(int64_t count) const { return Dataset(data::take_node(node(), count)); }

Dataset Dataset::skip(int64_t count) const { return Dataset(data::skip_node(node(), count)); }

Dataset Dataset::shard(int64_t num_shards, int64_t index) const {
  data::check_positive("shard: num_shards", num_shards);
  if (index < 0 || index >= num_shards) {
    throw invalid_argument("shard: index, got {}, expected 0 to {}", index, num_shards - 1);
  }
  return Dataset(data::shard_node(node(), num_shards, index));
}

Dataset Dataset::repeat(int64_t count) const { return Dataset(data::repeat_node(node(), count)); }

Dataset Dataset::shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  data::check_positive("shuffle: buffer_size", buffer_size);
  return Dataset(data::shuffle_node(node(), buffer_size, data::resolve_seed(options.seed),
                                    options.reshuffle_each_iteration));
}

Dataset Dataset::shuffle_and_repeat(int64_t buffer_size, int64_t count,
                                    std::optional<int64_t> seed) const {
  return shuffle(buffer_size, {.seed = seed}).repeat(count);
}

Dataset Dataset::unbatch() const {
  for (const TensorType& type : node()->types()) {
    if (type.shape.rank() > 0) continue;
    throw invalid_argument("unbatch: component, got {}, expected a first dimension", type);
  }
  return Dataset(data::unbatch_node(node()));
}

Dataset Dataset::cache() const { return Dataset(data::memory_cache_node(node())); }

Dataset Dataset::cache(const std::string& path, FileSystem* file_system) const {
  if (path.empty()) return cache();
  return Dataset(data::file_cache_node(node(), path, file_system_or_default(file_system)));
}

Dataset Dataset::prefetch(int64_t buffer_size) const {
  if (buffer_size < AUTOTUNE) {
    throw invalid_argument("prefetch: buffer_size, got {}, expected 0 or more, or AUTOTUNE",
                           buffer_size);
  }
  if (buffer_size == 0) return Dataset(node());
  return Dataset(data::prefetch_node(node(), buffer_size));
}

Dataset Dataset::ignore_errors() const { return Dataset(data::ignore_errors_node(node())); }

Dataset Dataset::options(const DatasetOptions& options) const {
  if (options.autotune_threads)
    data::check_positive("options: autotune_threads", *options.autotune_threads);
  if (options.autotune_bytes)
    data::check_positive("options: autotune_bytes", *options.autotune_bytes);
  return Dataset(data::options_node(node(), options));
}

Dataset Dataset::set_shape(const Nest<Shape>& shapes) const {
  const std::vector<Shape> flat = shapes.flatten();
  std::vector<TensorType> types = node()->types();
  if (flat.size() != types.size()) {
    throw invalid_argument("set_shape: shapes, got {}, expected {} for {}", flat.size(),
                           types.size(), element_spec().to_string());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].shape.compatible_with(flat[i])) {
      throw invalid_argument("set_shape: component {}, got {}, expected one that fits {}", i,
                             flat[i], types[i]);
    }
    for (int d = 0; d < flat[i].rank(); ++d) {
      if (flat[i][d] != kUnknown) types[i].shape.set_dim(d, flat[i][d]);
    }
  }
  return Dataset(data::set_shape_node(node(), pack_like(element_spec(), std::move(types))));
}

Iterator Dataset::make_iterator(const IteratorOptions& options) const {
  return Iterator(*this, options);
}

Dataset::RangeIterator::RangeIterator(const Dataset& dataset)
    : iterator_(std::make_shared<Iterator>(dataset)), element_(iterator_->next()) {}

std::function<Dataset(const Dataset&)> batch_and_drop_remainder(int64_t batch_size) {
  return [=](const Dataset& dataset) { return dataset.batch(batch_size, true); };
}

std::function<Dataset(const Dataset&)> shuffle_and_repeat(int64_t buffer_size, int64_t count,
                                                          std::optional<int64_t> seed) {
  return
      [=](const Dataset& dataset) { return dataset.shuffle_and_repeat(buffer_size, count, seed); };
}

std::function<Dataset(const Dataset&)> unbatch() {
  return [](const Dataset& dataset) { return dataset.unbatch(); };
}

std::function<Dataset(const Dataset&)> ignore_errors() {
  return [](const Dataset& dataset) { return dataset.ignore_errors(); };
}

}  // namespace systole
