// padded_batch and bucket_by_sequence_length: the shapes and values of padding.
#include <fmt/format.h>

#include "systole/data/dataset.h"
#include "systole/data/nodes.h"

namespace systole {
namespace {

data::Padding resolve_padding(std::string_view op, const data::Spec& spec,
                              const std::optional<Nest<Shape>>& shapes,
                              const std::optional<Nest<Tensor>>& values) {
  const std::vector<TensorType> types = spec.flatten();
  data::Padding padding;
  for (const TensorType& type : types) {
    padding.shapes.push_back(type.shape);
    padding.values.push_back(Tensor::zeros(type.dtype, {}));
  }
  if (shapes) padding.shapes = shapes->flatten();
  if (values) padding.values = values->flatten();
  if (padding.shapes.size() != types.size() || padding.values.size() != types.size()) {
    throw invalid_argument(
        "{}: padded_shapes and padding_values, got {} and {}, expected {} for {}", op,
        padding.shapes.size(), padding.values.size(), types.size(), spec.to_string());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (padding.shapes[i].rank() != types[i].shape.rank()) {
      throw invalid_argument("{}: padded shape of component {}, got {}, expected rank {} as of {}",
                             op, i, padding.shapes[i], types[i].shape.rank(), types[i]);
    }
    const TensorType value = padding.values[i].type();
    if (value.dtype != types[i].dtype || value.shape.rank() != 0) {
      throw invalid_argument("{}: padding value of component {}, got {}, expected a scalar of {}",
                             op, i, value, types[i].dtype);
    }
  }
  return padding;
}

}  // namespace

Dataset Dataset::padded_batch(int64_t batch_size, const PaddedBatchOptions& options) const {
  data::check_positive("padded_batch: batch_size", batch_size);
  return Dataset(
      data::padded_batch_node(node(), batch_size,
                              resolve_padding("padded_batch", element_spec(), options.padded_shapes,
                                              options.padding_values),
                              options.drop_remainder));
}

Dataset Dataset::bucket_cpp(std::function<int64_t(const Element&)> element_length,
                            const BucketOptions& options) const {
  data::check_function("bucket_by_sequence_length", element_length);
  return bucket(
      [element_length = std::move(element_length), spec = element_spec()](
          const Components& row, int64_t index, const data::CallContext&) {
        try {
          return element_length(data::to_element(spec, row));
        } catch (...) {
          throw data::current_error().with_context(
              fmt::format("bucket_by_sequence_length: element {}", index));
        }
      },
      options);
}

Dataset Dataset::bucket(LengthFunction length, const BucketOptions& options,
                        std::shared_ptr<const data::GraphFunction> graph) const {
  constexpr std::string_view op = "bucket_by_sequence_length";
  const std::vector<int64_t>& boundaries = options.bucket_boundaries;
  if (boundaries.empty() || !std::ranges::is_sorted(boundaries)) {
    throw invalid_argument("{}: bucket_boundaries, got [{}], expected ascending ones", op,
                           fmt::join(boundaries, ", "));
  }
  if (options.bucket_batch_sizes.size() != boundaries.size() + 1) {
    throw invalid_argument("{}: bucket_batch_sizes, got {}, expected {}, one more than boundaries",
                           op, options.bucket_batch_sizes.size(), boundaries.size() + 1);
  }
  for (const int64_t size : options.bucket_batch_sizes) {
    if (size <= 0) throw invalid_argument("{}: batch size, got {}, expected at least 1", op, size);
  }
  data::BucketArguments arguments{
      .length = std::move(length),
      .graph = std::move(graph),
      .options = options,
      .padding =
          resolve_padding(op, element_spec(), options.padded_shapes, options.padding_values)};
  size_t next = 0;
  data::Spec spec = element_spec().map([&](const TensorType& type) {
    return TensorType{type.dtype, arguments.padding.shapes[next++]};
  });
  return Dataset(data::bucket_node(node(), data::batched(spec, kUnknown), std::move(arguments)));
}

}  // namespace systole
