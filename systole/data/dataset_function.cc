// flat_map, interleave and window: functions that make data sets.
#include "systole/data/dataset.h"
#include "systole/data/nodes.h"

namespace systole {
namespace {

using data::DatasetMaker;
using data::Spec;

// Returns the spec of the data sets of a C++ function: the given one, or found by calling it.
Spec spec_of_called(std::string_view op, const std::optional<Spec>& told,
                    const Dataset::DatasetFunction& fn, const Spec& argument) {
  if (told) return *told;
  try {
    return fn(data::probe_element(argument)).element_spec();
  } catch (...) {
    throw data::current_error().with_context(fmt::format(
        "{}: called for its element_spec with an element of zeros; a function that cannot take one "
        "needs .element_spec",
        op));
  }
}

DatasetMaker called(const Spec& spec, Dataset::DatasetFunction fn) {
  return {.fn = [spec, fn = std::move(fn)](const Components& row) {
    return fn(data::to_element(spec, row)).node();
  }};
}

DatasetMaker traced(std::string_view op, const Dataset::NodePtr& argument,
                    const std::function<Dataset()>& call) {
  try {
    return {.argument = argument, .body = call().node()};
  } catch (...) {
    throw data::current_error().with_context(fmt::format("{}: function of data sets", op));
  }
}

void check_interleave(const InterleaveOptions& options) {
  constexpr int64_t kMaxOpen = 1 << 20;
  data::check_positive("interleave: cycle_length", options.cycle_length);
  if (options.cycle_length > kMaxOpen) {
    throw invalid_argument("interleave: cycle_length, got {}, expected at most {}, as all are open",
                           options.cycle_length, kMaxOpen);
  }
  data::check_positive("interleave: block_length", options.block_length);
  data::check_calls("interleave", options.num_parallel_calls);
}

}  // namespace

Dataset Dataset::flat_map_called(DatasetFunction fn, const FlatMapOptions& options) const {
  data::check_function("flat_map", fn);
  Spec spec = spec_of_called("flat_map", options.element_spec, fn, element_spec());
  return Dataset(
      data::flat_map_node(node(), std::move(spec), called(element_spec(), std::move(fn))));
}

Dataset Dataset::flat_map_traced(const TracedFunction& fn, const FlatMapOptions& options) const {
  const Dataset argument(data::argument_node(element_spec()));
  DatasetMaker maker = traced("flat_map", argument.node(), [&] { return fn(argument); });
  Spec spec = options.element_spec.value_or(maker.body->spec());
  return Dataset(data::flat_map_node(node(), std::move(spec), std::move(maker)));
}

Dataset Dataset::interleave_called(DatasetFunction fn, const InterleaveOptions& options) const {
  check_interleave(options);
  data::check_function("interleave", fn);
  Spec spec = spec_of_called("interleave", options.element_spec, fn, element_spec());
  return Dataset(data::interleave_node(node(), std::move(spec),
                                       called(element_spec(), std::move(fn)), options));
}

Dataset Dataset::interleave_traced(const TracedFunction& fn,
                                   const InterleaveOptions& options) const {
  check_interleave(options);
  const Dataset argument(data::argument_node(element_spec()));
  DatasetMaker maker = traced("interleave", argument.node(), [&] { return fn(argument); });
  Spec spec = options.element_spec.value_or(maker.body->spec());
  return Dataset(data::interleave_node(node(), std::move(spec), std::move(maker), options));
}

WindowedDataset Dataset::window(int64_t size, const WindowOptions& options) const {
  const int64_t shift = options.shift.value_or(size);
  data::check_positive("window: size", size);
  data::check_positive("window: shift", shift);
  data::check_positive("window: stride", options.stride);
  if (int64_t span = 0; __builtin_mul_overflow(size, options.stride, &span)) {
    throw invalid_argument("window: size * stride, got {} * {}, expected less than 2^63", size,
                           options.stride);
  }
  return {data::window_node(node(), size, shift, options.stride, options.drop_remainder),
          element_spec()};
}

void WindowedDataset::not_two(const Nest<Dataset>& window) {
  throw invalid_argument(
      "components of a window, got {}, expected a tuple of two; a function of one argument, "
      "const Nest<Dataset>&, takes any",
      window.num_leaves());
}

Dataset WindowedDataset::flat_map_traced(const WindowFunction& fn) const {
  // The slices of each component of a window are a data set.
  const Dataset argument(data::argument_node(rows_->spec()));
  std::vector<Dataset> parts;
  for (size_t c = 0; c < argument.node()->types().size(); ++c) {
    const Dataset component(data::select_node(argument.node(), argument.node()->types()[c], {c}));
    parts.push_back(component.unbatch());
  }
  DatasetMaker maker = traced("window.flat_map", argument.node(),
                              [&] { return fn(pack_like(spec_, std::move(parts))); });
  Spec spec = maker.body->spec();
  return Dataset(data::flat_map_node(rows_, std::move(spec), std::move(maker)));
}

}  // namespace systole
