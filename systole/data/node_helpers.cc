#include "systole/base/available_cpus.h"
#include "systole/data/nodes.h"

namespace systole::data {

void check_positive(std::string_view what, int64_t value) {
  if (value <= 0) throw invalid_argument("{}, got {}, expected at least 1", what, value);
}

void check_no_parameters(std::string_view who, const std::vector<Output>& parameters) {
  if (parameters.empty()) return;
  throw invalid_argument(
      "{}: data set, got one that takes the value of '{}' ({}), expected none: "
      "make_initializable_iterator() does that, when its initializer is run in a session",
      who, parameters.front().name(), parameters.front().node()->describe());
}

void check_slices(const Components& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.valid() || tensor.rank() == 0) {
      throw invalid_argument(
          "from_tensor_slices: tensor, got {}, expected a first dimension, whose rows are the "
          "elements (from_tensors takes any shape)",
          tensor.valid() ? tensor.type().to_string() : "none");
    }
    if (tensor.dim(0) == tensors.front().dim(0)) continue;
    throw invalid_argument("from_tensor_slices: first dimension, got {}, expected {} rows as of {}",
                           tensor.type(), tensors.front().dim(0), tensors.front().type());
  }
}

void check_calls(std::string_view op, int64_t value) {
  if (value >= AUTOTUNE && value <= 1024) return;
  throw invalid_argument("{}: num_parallel_calls, got {}, expected 0 to 1024 or AUTOTUNE", op,
                         value);
}

Shape with_first(int64_t size, const Shape& shape) {
  Dims dims{size};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(std::move(dims));
}

Shape without_first(const Shape& shape) { return Shape(Dims(shape.begin() + 1, shape.end())); }

Tensor row_of(const Tensor& tensor, int64_t i) {
  return tensor.slice(i, i + 1).reshape(without_first(tensor.shape()));
}

Spec batched(const Spec& spec, int64_t size) {
  return spec.map([&](const TensorType& type) {
    return TensorType{type.dtype, with_first(size, type.shape)};
  });
}

Nest<Tensor> probe_element(const Spec& spec) {
  return spec.map([](const TensorType& type) {
    Shape shape = type.shape;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == kUnknown) shape.set_dim(i, 1);
    }
    return Tensor::zeros(type.dtype, shape);
  });
}

std::optional<uint64_t> resolve_seed(std::optional<int64_t> seed) {
  const auto seeds = get_seed(seed);
  if (!seeds) return std::nullopt;
  if (!seed) Graph::current().note_made();  // each draws different numbers
  return mix(static_cast<uint64_t>(seeds->first), static_cast<uint64_t>(seeds->second));
}

uint64_t drawing_key(const std::optional<uint64_t>& seed, const StageContext& context,
                     const DatasetNode& node) {
  if (seed) return *seed;
  return mix(mix(context.root->entropy(), context.branch), static_cast<uint64_t>(node.size()));
}

int thread_count(int64_t num_parallel_calls, const StageContext& context) {
  if (num_parallel_calls != AUTOTUNE) return static_cast<int>(num_parallel_calls);
  const int wanted = context.autotune_threads > 0 ? context.autotune_threads
                                                  : context.root->options().autotune_threads;
  if (wanted > 0) return wanted;
  return available_cpus();
}

}  // namespace systole::data
