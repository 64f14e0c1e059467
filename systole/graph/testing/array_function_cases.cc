#include <algorithm>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Build = std::function<Output(const std::vector<Output>&)>;

// Element i of the result is that of x at source(i), 0 where source gives nothing.
using Source = std::function<std::optional<Dims>(IndexSpan)>;

OpCase placed(std::string name, const Shape& in, const Shape& out, const Build& build,
              const Source& source) {
  return {.name = std::move(name),
          .build = build,
          .inputs = {random_tensor(in)},
          .compute =
              [out, source](const auto& x) {
                return std::vector{generate(out, x[0].dtype(), [&](IndexSpan i) {
                  const std::optional<Dims> from = source(i);
                  return from ? element_or_0(x[0], *from) : 0.0;
                })};
              },
          .tolerance = 0,
          .dtypes = {DType::bf16, DType::f64},
          .second_order = true};
}

void add_matrices(std::vector<OpCase>& cases) {
  const auto band = [&](const std::string& name, int64_t lower, int64_t upper) {
    cases.push_back(placed(
        "matrix_band_part_" + name, {2, 3, 4}, {2, 3, 4},
        [=](auto& x) { return matrix_band_part(x[0], lower, upper); },
        [=](IndexSpan i) -> std::optional<Dims> {
          const bool kept =
              (lower < 0 || i[1] - i[2] <= lower) && (upper < 0 || i[2] - i[1] <= upper);
          return kept ? std::optional(Dims(i.begin(), i.end())) : std::nullopt;
        }));
  };
  band("lower_triangle", -1, 0);
  band("upper_triangle", 0, -1);
  band("diagonal", 0, 0);
  band("all", -1, -1);
  band("some", 1, 2);
  cases.push_back(placed(
      "matrix_diag", {2, 3}, {2, 3, 3}, [](auto& x) { return matrix_diag(x[0]); },
      [](IndexSpan i) -> std::optional<Dims> {
        return i[1] == i[2] ? std::optional(Dims{i[0], i[1]}) : std::nullopt;
      }));
  cases.push_back(placed(
      "diag", {3}, {3, 3}, [](auto& x) { return diag(x[0]); },
      [](IndexSpan i) -> std::optional<Dims> {
        return i[0] == i[1] ? std::optional(Dims{i[0]}) : std::nullopt;
      }));
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{3, 4}, {4, 3}, {3, 3}}) {
    cases.push_back(placed(
        fmt::format("matrix_diag_part_{}x{}", rows, columns), {2, rows, columns}, {2, 3},
        [](auto& x) { return matrix_diag_part(x[0]); },
        [](IndexSpan i) -> std::optional<Dims> {
          return Dims{i[0], i[1], i[1]};
        }));
  }
  cases.push_back(
      {.name = "trace",
       .build = [](auto& x) { return trace(x[0]); },
       .inputs = {random_tensor({2, 3, 4})},
       .reference = [](auto& x) { return reduce_sum(matrix_diag_part(x[0]), {.axis = 1}); },
       .dtypes = {DType::f64}});
  cases.back().known_inputs = {0};
}

void add_pixels(std::vector<OpCase>& cases) {
  cases.push_back(placed(
      "depth_to_space", {2, 2, 3, 8}, {2, 4, 6, 2}, [](auto& x) { return depth_to_space(x[0], 2); },
      [](IndexSpan i) -> std::optional<Dims> {
        return Dims{i[0], i[1] / 2, i[2] / 2, (i[1] % 2 * 2 + i[2] % 2) * 2 + i[3]};
      }));
  cases.push_back(placed(
      "space_to_depth", {2, 4, 6, 2}, {2, 2, 3, 8}, [](auto& x) { return space_to_depth(x[0], 2); },
      [](IndexSpan i) -> std::optional<Dims> {
        const int64_t place = i[3] / 2;
        return Dims{i[0], i[1] * 2 + place / 2, i[2] * 2 + place % 2, i[3] % 2};
      }));
}

void add_positions(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, const Shape& in, const Tensor& indices, const Shape& out,
                       const Source& source) {
    OpCase row = placed(
        std::move(name), in, out, [](auto& x) { return gather_nd(x[0], x[1]); }, source);
    row.inputs.push_back(indices);
    row.unknown_batch = false;
    cases.push_back(std::move(row));
  };
  const Tensor pairs = Tensor::of<int32_t>({3, 2}, {1, 2, 0, 0, -5, 9});
  const int64_t rows[] = {1, 0, 0};
  const int64_t columns[] = {2, 0, 2};
  add("gather_nd_elements", {2, 3}, pairs, {3}, [=](IndexSpan i) -> std::optional<Dims> {
    return Dims{rows[i[0]], columns[i[0]]};
  });
  add("gather_nd_slices", {2, 3, 2}, pairs, {3, 2}, [=](IndexSpan i) -> std::optional<Dims> {
    return Dims{rows[i[0]], columns[i[0]], i[1]};
  });
  add("gather_nd_rows", {4, 3}, Tensor::of<int64_t>({2, 1, 1}, {3, 1}), {2, 1, 3},
      [](IndexSpan i) -> std::optional<Dims> {
        return Dims{3 - 2 * i[0], i[2]};
      });
  add("gather_nd_one", {2, 3}, Tensor::of<int32_t>({2}, {1, 1}), {},
      [](IndexSpan) -> std::optional<Dims> {
        return Dims{1, 1};
      });
}

void add_sums(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Build& build, const Shape& updates,
                       const Tensor& indices, const Tensor& expected) {
    Tensor counts(DType::f32, updates);
    for (int64_t i = 0; i < counts.num_elements(); ++i) {
      counts.data<float>()[i] = static_cast<float>(1 << i);
    }
    cases.push_back({.name = name,
                     .build = build,
                     .inputs = {counts, indices},
                     .expected = {expected},
                     .dtypes = {DType::f64},
                     .second_order = true});
  };
  const Build scatter = [](auto& x) { return scatter_nd(x[1], x[0], {2, 3}); };
  add("scatter_nd_elements", scatter, {4}, Tensor::of<int32_t>({4, 2}, {0, 1, 1, 2, 0, 1, 0, 3}),
      Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 2}));
  add("scatter_nd_rows", scatter, {2, 3}, Tensor::of<int64_t>({2, 1}, {1, -1}),
      Tensor::of<float>({2, 3}, {0, 0, 0, 1, 2, 4}));
  add("scatter_nd_one", scatter, {3}, Tensor::of<int32_t>({1}, {1}),
      Tensor::of<float>({2, 3}, {0, 0, 0, 1, 2, 4}));
  const Build segments = [](auto& x) { return unsorted_segment_sum(x[0], x[1], 3); };
  add("unsorted_segment_sum", segments, {4, 2}, Tensor::of<int32_t>({4}, {2, 0, 2, 3}),
      Tensor::of<float>({3, 2}, {4, 8, 0, 0, 17, 34}));
  add("unsorted_segment_sum_elements", segments, {2, 2}, Tensor::of<int32_t>({2, 2}, {1, -1, 0, 1}),
      Tensor::of<float>({3}, {4, 9, 0}));
}

// Adds cases of gradients that are rows of a table.
void add_rows_of_tables(std::vector<OpCase>& cases) {
  cases.push_back({.name = "unique",
                   .build =
                       [](auto& x) {
                         return Graph::current()
                             .add_node("Unique", {x[0]}, {{"out_idx", DType::s32}})
                             ->outputs();
                       },
                   .inputs = {Tensor::of<int64_t>({6}, {5, 3, 5, 0, 3, 5})},
                   .expected = {Tensor::of<int64_t>({6}, {5, 3, -1, 0, -1, -1}),
                                Tensor::of<int32_t>({6}, {0, 1, 0, 3, 1, 0})},
                   .gradient = false});
  cases.push_back({.name = "replace_rows",
                   .build = [](auto& x) { return replace_rows(x[0], x[1], x[2]); },
                   .inputs = {Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}),
                              Tensor::of<int32_t>({3}, {2, -1, 0}),
                              Tensor::of<float>({3, 2}, {10, 20, 30, 40, 50, 60})},
                   .expected = {Tensor::of<float>({3, 2}, {50, 60, 3, 4, 10, 20})},
                   .gradient = false});
}

void add_sequences(std::vector<OpCase>& cases) {
  const int64_t lengths[] = {3, 0, 9};
  const auto back = [=](int64_t example, int64_t step) {
    const int64_t length = std::min<int64_t>(lengths[example], 4);
    return step < length ? length - 1 - step : step;
  };
  OpCase row = placed(
      "reverse_sequence", {3, 4, 2}, {3, 4, 2},
      [](auto& x) { return reverse_sequence(x[0], x[1]); },
      [=](IndexSpan i) -> std::optional<Dims> {
        return Dims{i[0], back(i[0], i[1]), i[2]};
      });
  row.inputs.push_back(Tensor::of<int32_t>({3}, {3, 0, 9}));
  cases.push_back(row);
  row = placed(
      "reverse_sequence_time_major", {4, 2, 3}, {4, 2, 3},
      [](auto& x) { return reverse_sequence(x[0], x[1], {.seq_axis = 0, .batch_axis = -1}); },
      [=](IndexSpan i) -> std::optional<Dims> {
        return Dims{back(i[2], i[0]), i[1], i[2]};
      });
  row.inputs.push_back(Tensor::of<int64_t>({3}, {3, 0, 9}));
  row.known_inputs = {1};
  cases.push_back(row);
}

void add_patterns(std::vector<OpCase>& cases) {
  const auto grid = [&](const std::string& indexing, const Shape& shape, int first_axis) {
    cases.push_back({.name = "meshgrid_" + indexing,
                     .build =
                         [=](auto& x) {
                           return meshgrid({x[0], x[1]}, {.indexing = indexing});
                         },
                     .inputs = {random_tensor({2}), random_tensor({3}, -1, 1, DType::f32, 2)},
                     .compute =
                         [=](const auto& x) {
                           const auto along = [&](const Tensor& t, int axis) {
                             return generate(shape, t.dtype(),
                                             [&](IndexSpan i) { return t.as_double(i[axis]); });
                           };
                           return std::vector{along(x[0], first_axis), along(x[1], 1 - first_axis)};
                         },
                     .tolerance = 0});
  };
  grid("xy", {3, 2}, 1);
  grid("ij", {2, 3}, 0);
  cases.push_back({.name = "placeholder_with_default",
                   .build =
                       [](auto& x) {
                         return placeholder_with_default(square(x[0]), {-1, 2});
                       },
                   .inputs = {random_tensor({3, 2})},
                   .reference = [](auto& x) { return square(x[0]); },
                   .dtypes = {DType::bf16}});
}

void add_errors(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Build& build, const std::string& error) {
    cases.push_back(
        {.name = name,
         .build = build,
         .inputs = {random_tensor({2, 3}), Tensor::of<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5})},
         .error = error});
  };
  add(
      "gather_nd_depth", [](auto& x) { return gather_nd(x[0], x[1]); },
      "GatherNd: indices, got s32[2,3], expected a last axis of size 1 to 2, at "
      "array_function_cases");
  add(
      "gather_nd_floats", [](auto& x) { return gather_nd(x[1], x[0]); },
      "GatherNd: indices, got f32[2,3], expected integers of [.., k]");
  add(
      "scatter_nd_updates",
      [](auto& x) {
        return scatter_nd(x[1], x[0], {4, 4, 4});
      },
      "ScatterNd: updates, got f32[2,3] for indices s32[2,3], expected f32[2]");
  add(
      "segments", [](auto& x) { return unsorted_segment_sum(x[0], x[1], 0); },
      "UnsortedSegmentSum: num_segments, got 0, expected at least 1");
  add(
      "segment_ids", [](auto& x) { return unsorted_segment_sum(x[1], x[0], 2); },
      "UnsortedSegmentSum: segment_ids, got f32[2,3], expected integers of the first sizes of");
  add(
      "reverse_sequence_lengths", [](auto& x) { return reverse_sequence(x[0], x[1]); },
      "ReverseSequence: seq_lengths, got s32[2,3], expected integers of [2]");
  add(
      "reverse_sequence_axes",
      [](auto& x) { return reverse_sequence(x[0], x[1], {.batch_axis = -1}); },
      "ReverseSequence: seq_axis, got 1, expected another one than batch_axis");
  add(
      "band_of_a_vector", [](auto& x) { return matrix_band_part(reshape(x[0], {6}), 0, 0); },
      "MatrixBandPart: input, got f32[6], expected rank 2 or more");
  add(
      "diag_of_a_matrix", [](auto& x) { return diag(x[0]); },
      "Diag: diagonal, got f32[2,3], expected a vector");
  add(
      "depth_to_space_rank", [](auto& x) { return depth_to_space(x[0], 2); },
      "DepthToSpace: input, got f32[2,3], expected [batch, height, width, channels]");
  add(
      "depth_to_space_channels",
      [](auto& x) {
        return depth_to_space(reshape(x[0], {1, 1, 1, 6}), 2);
      },
      "DepthToSpace: channels, got 6, expected a multiple of 4");
  add(
      "meshgrid_of_matrices", [](auto& x) { return meshgrid({x[0]})[0]; },
      "meshgrid: vectors, got f32[2,3], expected a vector");
  add(
      "placeholder_with_default_shape",
      [](auto& x) {
        return placeholder_with_default(x[0], {-1, 4});
      },
      "PlaceholderWithDefault: input, got f32[2,3], expected one of shape [?,4]");
}

}  // namespace

std::vector<OpCase> array_function_cases() {
  std::vector<OpCase> cases;
  add_matrices(cases);
  add_pixels(cases);
  add_positions(cases);
  add_sums(cases);
  add_rows_of_tables(cases);
  add_sequences(cases);
  add_patterns(cases);
  add_errors(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
