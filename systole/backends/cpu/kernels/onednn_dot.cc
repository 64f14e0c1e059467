#include "systole/backends/cpu/kernels/onednn_dot.h"

#include <algorithm>
#include <map>
#include <utility>

#include "systole/backends/cpu/kernels/few_rows_dot.h"
#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_parts.h"
#include "systole/backends/cpu/kernels/panel_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

constexpr double kSmallWork = 32768;  // multiplications that cost about as much as a call

Dims free_axes(int rank, const Dims& batch, const Dims& contracting) {
  Dims result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const auto has = [&](const Dims& dims) { return std::ranges::find(dims, axis) != dims.end(); };
    if (!has(batch) && !has(contracting)) result.push_back(axis);
  }
  return result;
}

// One operand as [batch..., rows, columns].
std::optional<dnnl::memory::desc> dot_layout(const TensorType& type, const Dims& batch,
                                             const Dims& rows, const Dims& columns) {
  const auto dtype = onednn_type(type.dtype);
  const auto row_stride = merged_stride(type.shape, rows);
  const auto column_stride = merged_stride(type.shape, columns);
  if (!dtype || !row_stride || !column_stride) return std::nullopt;
  const Dims strides = type.shape.strides();
  dnnl::memory::dims sizes;
  dnnl::memory::dims steps;
  for (const int64_t axis : batch) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[axis]);
  }
  const int64_t m = product(type.shape, rows);
  const int64_t n = product(type.shape, columns);
  sizes.insert(sizes.end(), {m, n});
  // An axis of size 1 has no meaningful stride: use that of a dense matrix.
  int64_t row_step = m == 1 ? n * (n == 1 ? 1 : *column_stride) : *row_stride;
  int64_t column_step = n == 1 ? (m == 1 || *row_stride == 1 ? m * row_step : 1) : *column_stride;
  if (n == 1 && *row_stride != 1) column_step = 1;
  if (row_step != 1 && column_step != 1) return std::nullopt;
  steps.insert(steps.end(), {row_step, column_step});
  return dnnl::memory::desc(sizes, *dtype, steps);
}

bool dot_supported(DType lhs, DType rhs, DType result) {
  if (lhs != rhs) return false;
  if (lhs == DType::f32) return result == DType::f32;
  if (lhs == DType::bf16) return result == DType::bf16 || result == DType::f32;
  return lhs == DType::s8 && result == DType::s32 && host_multiplies_s8();
}

// A product of matrices, [batch..., rows, depth] by [batch..., depth, columns].
struct MatrixProduct {
  MatrixProduct(const dnnl::memory::desc& lhs_layout, const dnnl::memory::desc& rhs_layout,
                const dnnl::memory::desc& result_layout)
      : lhs(lhs_layout), rhs(rhs_layout), result(result_layout) {
    const dnnl::memory::dims sizes = sizes_of(result);
    row_axis = sizes.size() - 2;
    batch_axis = static_cast<size_t>(std::ranges::max_element(sizes.begin(), sizes.end() - 2) -
                                     sizes.begin());
    batch = row_axis == 0 ? 1 : sizes[batch_axis];
    rows = sizes[row_axis];
    columns = sizes[row_axis + 1];
    depth = sizes_of(lhs)[row_axis + 1];
    operations = 2 * static_cast<double>(depth);
    for (const int64_t size : sizes) operations *= static_cast<double>(size);
  }

  dnnl::memory::desc lhs, rhs, result;
  size_t row_axis;
  size_t batch_axis;  // the longest, if there is one
  int64_t batch, rows, columns, depth;
  double operations;
};

// Into how many parts each of the product's axes is cut.
struct Cuts {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;

  int64_t count() const { return batch * rows * columns * depth; }
};

// A part of an axis of `size`: pieces of equal size, but for the last, at multiples of `step`.
struct Piece {
  int64_t begin, size;
};
std::vector<Piece> cut(int64_t size, int64_t parts, int64_t step) {
  const int64_t steps = (size + step - 1) / step;
  const int64_t each = std::max<int64_t>((steps + parts - 1) / parts, 1) * step;
  std::vector<Piece> result;
  for (int64_t begin = 0; begin < size; begin += each)
    result.push_back({begin, std::min(each, size - begin)});
  return result;
}

constexpr int64_t kMinPartSide = 64;  // of a part

// True for products that are cut into columns, whatever the number of threads; others are cut into
// rows.
bool cuts_columns(const MatrixProduct& p) {
  constexpr int64_t kFewRows = 16;
  constexpr double kOneThread = 5e7;  // operations
  return p.columns > p.rows && (p.rows > kFewRows || p.operations > kOneThread);
}

// True where the parts, on some number of threads, are arrays with gaps between their rows.
bool has_gaps(const MatrixProduct& p) {
  if (cuts_columns(p)) return p.columns >= 2 * kMinPartSide;
  const bool transposed = strides_of(p.lhs)[p.row_axis] == 1 && p.depth > 1;
  return p.rows >= 2 * kMinPartSide && transposed;
}

// Each cut of rows packs the right operand once more, each of columns the left one, so that one of
// them is cut, the longer. oneDNN adds up small results in another order than their parts, so that
// those are cut in depth, whatever the number of threads: it changes no result.
Cuts choose_cuts(const MatrixProduct& p, int num_threads) {
  constexpr int64_t kSmallSide = 384;
  constexpr int64_t kMinDepth = 512;
  constexpr int64_t kMaxSums = 8;
  Cuts cuts;
  const int64_t longest = std::max(p.rows, p.columns);
  const bool is_f32 = type_of(p.result) == dnnl::memory::data_type::f32;
  if (p.row_axis == 0 && longest <= kSmallSide && p.depth >= 2 * kMinDepth && is_f32) {
    const auto most = static_cast<int64_t>(p.operations / kMinOperations);
    const int64_t pieces = p.depth / std::max(kMinDepth, 2 * longest);
    cuts.depth = std::clamp<int64_t>(std::min(pieces, most), 1, kMaxSums);
    return cuts;
  }
  const int64_t most = max_parts(p.operations, num_threads);
  cuts.batch = std::min(p.batch, most);
  const int64_t wanted = std::min<int64_t>(most, num_threads);
  int64_t& along = cuts_columns(p) ? cuts.columns : cuts.rows;
  const int64_t size = cuts_columns(p) ? p.columns : p.rows;
  while (cuts.count() < wanted && size / along >= 2 * kMinPartSide) ++along;
  return cuts;
}

// A rectangle of a matrix, or of some of a batch.
struct Rectangle {
  Piece batch, rows, columns;
};

dnnl::memory::desc rectangle_layout(const MatrixProduct& p, const dnnl::memory::desc& whole,
                                    const Rectangle& part) {
  dnnl::memory::dims sizes = sizes_of(whole);
  if (p.row_axis > 0) sizes[p.batch_axis] = part.batch.size;
  sizes[p.row_axis] = part.rows.size;
  sizes[p.row_axis + 1] = part.columns.size;
  return dnnl::memory::desc(sizes, type_of(whole), strides_of(whole));
}

int64_t rectangle_offset(const MatrixProduct& p, const dnnl::memory::desc& whole,
                         const Rectangle& part) {
  const dnnl::memory::dims strides = strides_of(whole);
  const int64_t elements = (p.row_axis > 0 ? part.batch.begin * strides[p.batch_axis] : 0) +
                           part.rows.begin * strides[p.row_axis] +
                           part.columns.begin * strides[p.row_axis + 1];
  return elements * static_cast<int64_t>(dnnl::memory::data_type_size(type_of(whole)));
}

// The calls of the parts: parts of equal size share one.
class DotCalls {
 public:
  DotCalls(bool packs_rhs, bool dense) : packs_rhs_(packs_rhs), dense_(dense) {}

  struct Entry {
    std::shared_ptr<const OnednnCall> call;  // null if oneDNN has no implementation
    dnnl::memory::desc rhs;                  // as the call takes it
  };
  Entry get(const dnnl::memory::desc& lhs, const dnnl::memory::desc& rhs,
            const dnnl::memory::desc& result) {
    Entry& entry = entries_[{sizes_of(lhs), sizes_of(rhs)}];
    if (entry.call != nullptr) return entry;
    const dnnl::memory::desc any(sizes_of(rhs), type_of(rhs), dnnl::memory::format_tag::any);
    const auto primitive = try_make([&] {
      const auto avoid = [&](auto& description) {
        if (!dense_) avoid_brgemm(description);
      };
      const auto pd = describe_changed<dnnl::matmul>(avoid, onednn_attributes(), onednn_engine(),
                                                     lhs, packs_rhs_ ? any : rhs, result);
      entry.rhs = pd.weights_desc();
      return dnnl::matmul(pd);
    });
    if (!primitive) return {};
    entry.call = std::make_shared<OnednnCall>(
        *primitive,
        std::vector<OnednnCall::Operand>{
            {DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, entry.rhs}, {DNNL_ARG_DST, result}});
    return entry;
  }

 private:
  bool packs_rhs_;
  bool dense_;
  std::map<std::pair<dnnl::memory::dims, dnnl::memory::dims>, Entry> entries_;
};

// Copies of the right operand's pieces in the kernel's scratch memory, one for each cut of columns.
class PackedRhs {
 public:
  // Where a part finds the piece at this offset in the caller's memory.
  PartOperand place(const dnnl::memory::desc& rhs, int64_t offset, const dnnl::memory::desc& packed,
                    OnednnWork& work) {
    const PartOperand source{.buffer = 1, .offset = offset};
    if (packed == rhs) return source;
    const auto [found, added] =
        places_.try_emplace(offset, PartOperand{.offset = work.scratch_bytes});
    if (!added) return found->second;
    work.scratch_bytes += aligned(static_cast<int64_t>(packed.get_size()));
    work.kept_operand = source.buffer;
    const auto copies = copy_parts(rhs, source, packed, found->second, 1);
    work.before.insert(work.before.end(), copies.begin(), copies.end());
    return found->second;
  }

 private:
  std::map<int64_t, PartOperand> places_;
};

// All that the cuts give.
std::vector<std::pair<Rectangle, Piece>> cut_up(const MatrixProduct& p, const Cuts& cuts) {
  constexpr int64_t kStep = 16;  // of rows and columns: whole vectors
  std::vector<std::pair<Rectangle, Piece>> result;
  for (const Piece& batch : cut(p.batch, cuts.batch, 1)) {
    for (const Piece& rows : cut(p.rows, cuts.rows, kStep)) {
      for (const Piece& columns : cut(p.columns, cuts.columns, kStep)) {
        for (const Piece& depth : cut(p.depth, cuts.depth, 1))
          result.push_back({{batch, rows, columns}, depth});
      }
    }
  }
  return result;
}

// Returns nullptr if oneDNN has no implementation.
std::unique_ptr<Kernel> make_product_kernel(const MatrixProduct& p, const Cuts& cuts,
                                            bool packs_rhs, int num_threads) {
  const OnOneThread alone;
  OnednnWork work;
  const bool dense = !has_gaps(p);
  DotCalls calls(packs_rhs && dense, dense);
  PackedRhs packed;
  const auto result_bytes = static_cast<int64_t>(p.result.get_size());
  const bool sums = cuts.depth > 1;  // each part then has the whole result
  for (const auto& [part, depth] : cut_up(p, cuts)) {
    const Rectangle lhs{part.batch, part.rows, depth};
    const Rectangle rhs{part.batch, depth, part.columns};
    const dnnl::memory::desc rhs_layout = rectangle_layout(p, p.rhs, rhs);
    auto [call, rhs_taken] =
        calls.get(rectangle_layout(p, p.lhs, lhs), rhs_layout, rectangle_layout(p, p.result, part));
    if (call == nullptr) return nullptr;
    const PartOperand rhs_place =
        packed.place(rhs_layout, rectangle_offset(p, p.rhs, rhs), rhs_taken, work);
    const PartOperand result =
        sums ? PartOperand{.offset = work.scratch_bytes}
             : PartOperand{.buffer = 2, .offset = rectangle_offset(p, p.result, part)};
    if (sums) work.scratch_bytes += result_bytes;
    work.parts.push_back(
        {.call = std::move(call),
         .operands = {
             {.buffer = 0, .offset = rectangle_offset(p, p.lhs, lhs)}, rhs_place, result}});
  }
  if (sums) {
    work.sums = PartialSums{.first = {},
                            .result = {.buffer = 2},
                            .count = static_cast<int64_t>(work.parts.size()),
                            .elements = result_bytes / static_cast<int64_t>(sizeof(float))};
  }
  if (!work.kept_operand) return make_parts_kernel(std::move(work), num_threads);
  return make_parts_kernel(std::move(work), num_threads,
                           make_product_kernel(p, cuts, false, num_threads));
}

bool is_f32(const MatrixProduct& p) {
  return type_of(p.lhs) == dnnl::memory::data_type::f32 &&
         type_of(p.result) == dnnl::memory::data_type::f32;
}

// Returns nullptr for other products than those of a few rows by a large matrix whose rows are
// dense.
std::unique_ptr<Kernel> few_rows_kernel(const MatrixProduct& p) {
  const dnnl::memory::dims lhs = strides_of(p.lhs);
  const dnnl::memory::dims rhs = strides_of(p.rhs);
  if (p.row_axis != 0 || !is_f32(p) || rhs[1] != 1) return nullptr;
  return make_few_rows_kernel({.rows = p.rows,
                               .depth = p.depth,
                               .columns = p.columns,
                               .lhs_row = lhs[0],
                               .lhs_column = lhs[1],
                               .rhs_row = rhs[0],
                               .result_row = strides_of(p.result)[0]});
}

// Products of up to kMaxRows rows by a matrix that stays, packed once. oneDNN packs it in every
// call where it is cut, which many rows make up for. Returns nullptr for other products.
std::unique_ptr<Kernel> panel_kernel(const MatrixProduct& p, bool rhs_stays, int num_threads,
                                     Epilogue epilogue) {
  constexpr int64_t kMinColumns = 24;
  constexpr int64_t kMaxRows = 256;
  const dnnl::memory::dims lhs = strides_of(p.lhs);
  const dnnl::memory::dims rhs = strides_of(p.rhs);
  if (!rhs_stays || p.row_axis != 0 || !is_f32(p) || lhs[1] != 1 || p.columns < kMinColumns ||
      p.rows > kMaxRows)
    return nullptr;
  return make_panel_dot_kernel({.rows = p.rows,
                                .depth = p.depth,
                                .columns = p.columns,
                                .row_step = lhs[0],
                                .rhs_row = rhs[0],
                                .rhs_column = rhs[1],
                                .result_row = strides_of(p.result)[0]},
                               true, num_threads, std::move(epilogue));
}

// Returns nullopt if oneDNN does not support the element types, or if the axes cannot be viewed as
// a batch of matrices.
std::optional<MatrixProduct> matrix_product(const Instruction& dot) {
  if (!dot_supported(dot.operand(0).dtype(), dot.operand(1).dtype(), dot.dtype()))
    return std::nullopt;
  const DotAxes axes(dot);
  const auto lhs =
      dot_layout(dot.operand(0).type(), axes.lhs_batch, axes.lhs_free, axes.lhs_contracting);
  const auto rhs =
      dot_layout(dot.operand(1).type(), axes.rhs_batch, axes.rhs_contracting, axes.rhs_free);
  if (!lhs || !rhs) return std::nullopt;
  dnnl::memory::dims sizes;
  for (const int64_t axis : axes.lhs_batch)
    sizes.push_back(dot.operand(0).shape()[static_cast<int>(axis)]);
  sizes.push_back(product(dot.operand(0).shape(), axes.lhs_free));
  sizes.push_back(product(dot.operand(1).shape(), axes.rhs_free));
  dnnl::memory::dims steps(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) steps[i - 1] = steps[i] * sizes[i];
  const dnnl::memory::desc result(sizes, *onednn_type(dot.dtype()), steps);
  return MatrixProduct(*lhs, *rhs, result);
}

}  // namespace

std::optional<int64_t> merged_stride(const Shape& shape, const Dims& axes) {
  const Dims strides = shape.strides();
  std::optional<int64_t> inner;
  int64_t size = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int64_t extent = shape[static_cast<int>(*axis)];
    if (extent == 1) continue;
    const int64_t stride = strides[*axis];
    if (!inner) {
      inner = stride;
    } else if (stride != *inner * size) {
      return std::nullopt;
    }
    size *= extent;
  }
  return inner.value_or(1);
}

std::vector<int64_t> offsets_along(const Shape& shape, const Dims& axes) {
  const Dims strides = shape.strides();
  std::vector<int64_t> result = {0};
  for (const int64_t axis : axes) {
    std::vector<int64_t> longer;
    for (const int64_t base : result) {
      for (int64_t i = 0; i < shape[static_cast<int>(axis)]; ++i)
        longer.push_back(base + i * strides[axis]);
    }
    result = std::move(longer);
  }
  return result;
}

DotAxes::DotAxes(const Instruction& dot) {
  const auto& attrs = dot.attrs<hlo::DotAttrs>();
  lhs_batch = attrs.lhs_batching_dimensions;
  rhs_batch = attrs.rhs_batching_dimensions;
  lhs_contracting = attrs.lhs_contracting_dimensions;
  rhs_contracting = attrs.rhs_contracting_dimensions;
  lhs_free = free_axes(dot.operand(0).shape().rank(), lhs_batch, lhs_contracting);
  rhs_free = free_axes(dot.operand(1).shape().rank(), rhs_batch, rhs_contracting);
  // The contracted axes in the order in which the left operand has them: the sum does not mind.
  std::vector<size_t> order(lhs_contracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return attrs.lhs_contracting_dimensions[i]; });
  for (size_t i = 0; i < order.size(); ++i) {
    lhs_contracting[i] = attrs.lhs_contracting_dimensions[order[i]];
    rhs_contracting[i] = attrs.rhs_contracting_dimensions[order[i]];
  }
}

bool dot_is_small(const Instruction& dot) {
  const DotAxes axes(dot);
  const auto contracted =
      static_cast<double>(product(dot.operand(0).shape(), axes.lhs_contracting));
  const bool vector = product(dot.operand(0).shape(), axes.lhs_free) == 1 ||
                      product(dot.operand(1).shape(), axes.rhs_free) == 1;
  const double work = contracted * static_cast<double>(dot.shape().num_elements());
  return work <= (vector ? 16 * kSmallWork : kSmallWork);
}

std::unique_ptr<Kernel> make_dot_kernel(const Instruction& dot, bool rhs_stays, int num_threads) {
  const std::optional<MatrixProduct> product = matrix_product(dot);
  if (!product) return nullptr;
  const MatrixProduct& p = *product;
  if (auto kernel = panel_kernel(p, rhs_stays, num_threads, {})) return kernel;
  if (auto kernel = few_rows_kernel(p)) return kernel;
  const Cuts cuts = choose_cuts(p, num_threads);
  // (Parts of sums use the scratch memory for themselves.)
  const bool packs_rhs = rhs_stays && p.row_axis == 0 && cuts.depth == 1;
  return make_product_kernel(p, cuts, packs_rhs, num_threads);
}

std::unique_ptr<Kernel> make_dot_with_epilogue(const Instruction& dot, bool rhs_stays,
                                               int num_threads, Epilogue epilogue) {
  const std::optional<MatrixProduct> p = matrix_product(dot);
  if (!p) return nullptr;
  return panel_kernel(*p, rhs_stays, num_threads, std::move(epilogue));
}

}  // namespace systole::cpu
