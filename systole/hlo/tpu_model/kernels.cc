#include "systole/hlo/tpu_model/kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "systole/hlo/analysis/counted_loop.h"

namespace systole::hlo {
namespace {

// A kernel reads no more arrays.
constexpr size_t kMaxReads = 64;
// An operand with fewer elements than 1 in this many of the result is read at no cost.
constexpr int64_t kSmallOperand = 4;
// Kernels of at most so many elements run as soon as what they read exists.
constexpr int64_t kSmallKernel = 1024;

int64_t elements_of(const TensorType& type) {
  return type.is_static() ? type.shape.num_elements() : 0;
}

bool is_slice(const Instruction& x) { return x.is(Opcode::slice) || x.is(Opcode::dynamic_slice); }

bool is_update(const Instruction& x) {
  return x.is(Opcode::dynamic_update_slice) || x.is(Opcode::scatter);
}

bool is_condition(const Instruction& x) { return x.is(Opcode::if_) || x.is(Opcode::case_); }

bool runs_on_matrix_unit(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

bool is_highest(const Instruction& x) {
  const auto& precision = x.is(Opcode::dot_general) ? x.attrs<DotAttrs>().precision_config
                                                    : x.attrs<ConvolutionAttrs>().precision_config;
  return std::ranges::any_of(precision, [](Precision p) { return p != Precision::default_; });
}

// The same bytes under another shape.
bool is_view(const Instruction& x) {
  return x.is(Opcode::optimization_barrier) || x.traits().has(kBitcast);
}

// Made where it is read.
bool is_generated(const Instruction& x) {
  return x.is(Opcode::broadcast_in_dim) || x.is(Opcode::iota) || x.is(Opcode::constant);
}

bool moves_elements(const Instruction& x) {
  return x.is(Opcode::pad) || x.is(Opcode::concatenate) || x.is(Opcode::reverse) ||
         x.is(Opcode::transpose);
}

bool has_several_users(const Instruction& x) {
  const auto users = x.users();
  return std::ranges::any_of(users, [&](const Instruction* user) { return user != users[0]; });
}

// One number a row into an array of one value, as the gradient of a choice of labels: computed like
// a comparison of each element's place.
bool is_one_hot(const Instruction& x) {
  if (!x.is(Opcode::scatter) || x.num_operands() != 3 || x.num_results() != 1) return false;
  const TensorType& updates = x.operand(2).type();
  const TensorType& array = x.type();
  return x.attrs<ScatterAttrs>().update_window_dims.empty() && array.is_static() &&
         array.shape.rank() == 2 && is_generated(*x.operand(0).def) &&
         elements_of(updates) == array.shape[0];
}

// Loops and updates write over their operands.
bool is_written_over(const Instruction& x) {
  return std::ranges::any_of(x.users(), [&](const Instruction* user) {
    return user->is(Opcode::while_) || user->is(Opcode::return_) ||
           (is_update(*user) && user->operand(0).def == &x && !is_one_hot(*user));
  });
}

// The gradient of pooling computes nothing where it reads.
bool is_pooled_back(const Instruction& x) {
  return std::ranges::any_of(
      x.users(), [](const Instruction* user) { return user->is(Opcode::select_and_scatter); });
}

bool is_slice_in_place(const Instruction& x) { return is_slice(x) && !is_written_over(x); }

// Whether a loop changes a value that is also used elsewhere.
bool is_copied(const Instruction& loop, int i) {
  const Computation& body = loop.region(1);
  return body.results()[static_cast<size_t>(i)] != body.parameter(i) &&
         loop.operand(i).def->users().size() > 1;
}

class KernelMaker {
 public:
  explicit KernelMaker(const Computation& computation) : computation_(computation) {}
  std::vector<Kernel> make();

 private:
  using List = std::vector<Value>;
  // The array behind views.
  static Value behind_views(Value value);
  bool is_inline(const Instruction& x) const;
  void add_read(Value from, const std::unordered_map<const Instruction*, List>& of, List& list);
  void find_reads(const Instruction& x);
  void find_times(const Instruction& x);
  void place(const Instruction& x);
  int kernel_to_join(const Instruction& x) const;
  int awaited_by(const Instruction& x) const;
  void add_scratch(const Instruction& x, Kernel& made) const;
  bool is_made_for(Value table) const;
  void add_captures(const Instruction& x);
  void find_arrays();
  KernelArray array_of(Value value, const TensorType& type) const;
  bool is_narrow(Value value, int kernel) const;
  void add_costs(Kernel& kernel);

  const Computation& computation_;
  std::vector<Kernel> kernels_;
  std::vector<int64_t> elements_;  // of kernels
  std::vector<int> waits_for_;     // of kernels: itself, or for a small one the last that it needs
  std::unordered_map<const Instruction*, int> kernel_of_;     // of kept values
  std::unordered_map<const Instruction*, int> there_after_;   // the kernel that a value waits for
  std::unordered_map<const Instruction*, int> not_before_;    // the kernel that a barrier waits for
  std::unordered_set<const Instruction*> inline_;             // computed where they are read
  std::unordered_map<const Instruction*, List> reads_;        // through inline values
  std::unordered_map<const Instruction*, List> large_reads_;  // not much smaller than the result
  std::unordered_map<Value, std::vector<const Instruction*>, ValueHash> readers_;
  std::map<std::vector<int64_t>, std::pair<int, int>> tiled_axes_;  // by shape
};

Value KernelMaker::behind_views(Value value) {
  while (is_view(*value.def) && value.def->num_operands() > 0)
    value = value.def->operand(value.def->is(Opcode::optimization_barrier) ? value.index : 0);
  return value;
}

void KernelMaker::add_read(Value from, const std::unordered_map<const Instruction*, List>& of,
                           List& list) {
  const auto add_one = [&](Value value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
  };
  if (from.def->is(Opcode::constant)) return;
  if (!inline_.contains(from.def)) return add_one(from);
  for (const Value& value : of.at(from.def)) add_one(value);
}

void KernelMaker::find_reads(const Instruction& x) {
  List& reads = reads_[&x];
  List& large = large_reads_[&x];
  for (const Value& operand : x.operands()) {
    const Value from = behind_views(operand);
    add_read(from, reads_, reads);
    if (x.num_results() > 0 && elements_of(from.type()) * kSmallOperand >= elements_of(x.type())) {
      add_read(from, large_reads_, large);
    }
  }
}

bool KernelMaker::is_inline(const Instruction& x) const {
  if (x.num_results() != 1 || is_written_over(x)) return false;
  if (is_generated(x) || is_one_hot(x)) return true;
  if (reads_.at(&x).size() > kMaxReads) return false;
  if (is_slice(x)) return true;
  if (moves_elements(x)) return !has_several_users(x);
  if (!x.traits().has(kElementwise) || is_pooled_back(x)) return false;
  return !has_several_users(x) || large_reads_.at(&x).size() <= 1;
}

int64_t elements_of_work(const Instruction& x) {
  if (x.is(Opcode::reduce) || x.is(Opcode::reduce_window)) return elements_of(x.operand(0).type());
  if (x.is(Opcode::dynamic_update_slice)) return elements_of(x.operand(1).type());
  return x.num_results() > 0 ? elements_of(x.type()) : 0;
}

// Whether element-wise work can follow in the same kernel.
bool takes_more(const Instruction& x) {
  return runs_on_matrix_unit(x) || x.traits().has(kElementwise) || x.is(Opcode::reduce) ||
         is_update(x) || moves_elements(x) || is_generated(x);
}

// What is behind a barrier waits for all that the barrier holds, also where it reads one array
// only.
void KernelMaker::find_times(const Instruction& x) {
  int after = -1;
  int barrier = -1;
  for (const Value& operand : x.operands()) {
    const auto made = there_after_.find(operand.def);
    if (made == there_after_.end()) continue;
    after = std::max(after, made->second);
    barrier = std::max(barrier, not_before_.at(operand.def));
  }
  if (x.is(Opcode::optimization_barrier)) barrier = std::max(barrier, after);
  there_after_[&x] = after;
  not_before_[&x] = barrier;
}

int KernelMaker::kernel_to_join(const Instruction& x) const {
  if (!x.traits().has(kElementwise) && !x.is(Opcode::reduce) &&
      !x.is(Opcode::dynamic_update_slice)) {
    return -1;
  }
  int last = -1;
  int last_small = -1;  // of what small values wait for
  int small = -1;       // the last small kernel
  int waited = -1;      // the last whose sum x needs
  for (const Value& read : reads_.at(&x)) {
    const Value whole = is_slice_in_place(*read.def) ? behind_views(read.def->operand(0)) : read;
    const auto found = kernel_of_.find(whole.def);
    if (found == kernel_of_.end()) continue;
    const auto kernel = static_cast<size_t>(found->second);
    // A sum is there after all of its elements.
    const bool waits =
        whole.def->is(Opcode::reduce) && elements_of(read.type()) < elements_of_work(x);
    if (waits || elements_[kernel] <= kSmallKernel) {
      last_small = std::max(last_small, waits_for_[kernel]);
      int& latest = waits ? waited : small;
      latest = std::max(latest, found->second);
    } else {
      last = std::max(last, found->second);
    }
  }
  if (last < 0) {
    last = small;
    last_small = waited;
  }
  if (last < 0 || last < not_before_.at(&x)) return -1;
  if (last_small >= last || elements_[static_cast<size_t>(last)] != elements_of_work(x)) return -1;
  return takes_more(*kernels_[static_cast<size_t>(last)].root) ? last : -1;
}

// The last kernel that is not small and that must run before x.
int KernelMaker::awaited_by(const Instruction& x) const {
  int last = -1;
  for (const Value& read : reads_.at(&x)) {
    const Value whole = is_slice_in_place(*read.def) ? behind_views(read.def->operand(0)) : read;
    const auto found = kernel_of_.find(whole.def);
    if (found != kernel_of_.end())
      last = std::max(last, waits_for_[static_cast<size_t>(found->second)]);
  }
  return last;
}

void KernelMaker::place(const Instruction& x) {
  int kernel = kernel_to_join(x);
  if (kernel < 0) {
    kernel = static_cast<int>(kernels_.size());
    Kernel& made = kernels_.emplace_back();
    made.root = &x;
    made.product = product_size(x);
    if (x.is(Opcode::while_)) {
      made.loop = &x.region(1);
      made.trips = LoopCounters(x).trips().value_or(1);
    } else if (is_condition(x)) {
      for (const auto& region : x.regions()) made.branches.push_back(region.get());
    }
    elements_.push_back(elements_of_work(x));
    const bool has_body = x.num_regions() > 0 && !x.is(Opcode::reduce);
    const bool is_small = elements_.back() <= kSmallKernel && !has_body;
    waits_for_.push_back(is_small ? awaited_by(x) : kernel);
  }
  kernels_[static_cast<size_t>(kernel)].computed.push_back(&x);
  kernel_of_[&x] = there_after_[&x] = kernel;
  add_scratch(x, kernels_[static_cast<size_t>(kernel)]);
}

constexpr int64_t kLanes = 128;
constexpr int64_t kSublanes = 8;

// Whether a gather or scatter of rows of `moved` elements of a table that lies across touches more
// than a copy that lies along needs.
bool is_copied_along(const TensorType& table, int64_t moved) {
  if (!table.is_static() || table.shape.rank() != 2) return false;
  const int64_t width = table.shape[1];
  if (width >= kLanes || width >= table.shape[0]) return false;
  if (width == 0) return false;
  const int64_t tiles_of_row = (width + kSublanes - 1) / kSublanes;
  return moved / width * tiles_of_row * kSublanes * kLanes > table.shape[0] * (width + kLanes);
}

void KernelMaker::add_scratch(const Instruction& x, Kernel& made) const {
  if (!x.is(Opcode::gather) && !x.is(Opcode::scatter)) return;
  const Value table = behind_views(x.operand(0));
  const bool gathers = x.is(Opcode::gather);
  const int64_t moved = elements_of(gathers ? x.type() : x.operand(x.num_operands() - 1).type());
  if (gathers && is_made_for(table)) {
    made.scratch.push_back(array_of(table, table.type()));
  } else if (is_copied_along(table.type(), moved)) {
    KernelArray copy = array_of(table, table.type());
    copy.tiled.shape = {table.shape()[0], kLanes};
    made.copies.push_back(copy);
    // A scatter's is written and copied back.
    if (!gathers) made.copies.push_back(copy);
  }
}

// Whether an array is computed where it is read, and its kernel could not write it in place of what
// it is computed from.
bool KernelMaker::is_made_for(Value table) const {
  if (!inline_.contains(table.def) || is_generated(*table.def) || is_slice(*table.def))
    return false;
  const List& from = large_reads_.at(table.def);
  return from.size() != 1 || from[0].dtype() != table.dtype() || !kernel_of_.contains(from[0].def);
}

// Values that regions use.
void KernelMaker::add_captures(const Instruction& x) {
  for (const auto& region : x.regions()) {
    for (const Instruction* inside : region->instructions()) {
      for (const Value& operand : inside->operands()) {
        if (&operand.def->parent() == &computation_)
          add_read(behind_views(operand), reads_, reads_[&x]);
      }
    }
  }
}

bool KernelMaker::is_narrow(Value value, int kernel) const {
  if (value.dtype() != DType::f32) return false;
  const auto readers = readers_.find(value);
  if (readers == readers_.end()) return false;
  bool has_product = false;
  for (const Instruction* reader : readers->second) {
    const int of = kernel_of_.at(reader);
    if (of == kernel) continue;
    const bool direct = std::ranges::any_of(
        reader->operands(), [&](const Value& operand) { return behind_views(operand) == value; });
    if (!runs_on_matrix_unit(*reader) || is_highest(*reader) || !direct) return false;
    has_product = true;
  }
  return has_product;
}

void KernelMaker::find_arrays() {
  for (const auto& [x, kernel] : kernel_of_) {
    for (const Value& read : reads_.at(x)) readers_[read].push_back(x);
  }
  std::unordered_set<Value, ValueHash> returned;
  for (const Value& result : computation_.results()) returned.insert(behind_views(result));
  std::unordered_map<Value, TensorType, ValueHash> types;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    Kernel& kernel = kernels_[k];
    const int number = static_cast<int>(k);
    std::unordered_set<Value, ValueHash> seen;
    for (const Instruction* x : kernel.computed) {
      for (const Value& read : reads_.at(x)) {
        const auto made = kernel_of_.find(read.def);
        if (made != kernel_of_.end() && made->second == number) continue;
        // An update leaves the rest of the array alone.
        if (is_update(*x) && read == behind_views(x->operand(0))) continue;
        if (!seen.insert(read).second) continue;
        const auto type = types.find(read);
        kernel.reads.push_back(array_of(read, type == types.end() ? read.type() : type->second));
      }
      for (int i = 0; i < x->num_results(); ++i) {
        const Value value{const_cast<Instruction*>(x), i};
        const auto readers = readers_.find(value);
        const bool is_result = returned.contains(value);
        const bool leaves = is_result || readers == readers_.end() ||
                            std::ranges::any_of(readers->second, [&](const Instruction* reader) {
                              return kernel_of_.at(reader) != number;
                            });
        if (!leaves) continue;
        TensorType type = value.type();
        if (!is_result && is_narrow(value, number)) type.dtype = DType::bf16;
        types[value] = type;
        if (is_update(*x))
          type = x->operand(x->is(Opcode::scatter) ? x->num_operands() - 1 : 1).type();
        kernel.writes.push_back(array_of(value, type));
      }
    }
    add_costs(kernel);
  }
}

void add_operations_of(const Instruction& x, Cost& cost) {
  const Cost one = cost_of(x);
  cost.flops += one.flops;
  cost.product_flops += one.product_flops;
  cost.transcendentals += one.transcendentals;
}

// Fewer features are tiled otherwise.
constexpr int64_t kTiledFeatures = 8;

// Notes that arrays of this shape are tiled along `one` and `other`, the axes of an operand or
// result of a convolution that are not spatial: batch and features.
void add_tiled_axes(const TensorType& type, int64_t one, int64_t other,
                    std::map<std::vector<int64_t>, std::pair<int, int>>& tiled) {
  const auto a = static_cast<int>(one);
  const auto b = static_cast<int>(other);
  if (!type.is_static() || std::min(type.shape[a], type.shape[b]) < kTiledFeatures) return;
  tiled.try_emplace({type.shape.dims().begin(), type.shape.dims().end()}, a, b);
}

KernelArray KernelMaker::array_of(Value value, const TensorType& type) const {
  KernelArray array{.value = value, .type = type, .tiled = type};
  if (!type.is_static()) return array;
  const auto found = tiled_axes_.find({type.shape.dims().begin(), type.shape.dims().end()});
  if (found == tiled_axes_.end()) return array;
  const auto& [a, b] = found->second;
  array.tiled = {type.dtype, {type.shape[a], type.shape[b]}};
  array.positions = static_cast<double>(elements_of(type) / elements_of(array.tiled));
  return array;
}

void KernelMaker::add_costs(Kernel& kernel) {
  if (kernel.loop != nullptr || !kernel.branches.empty()) return;
  std::unordered_set<const Instruction*> seen;
  std::vector<const Instruction*> waiting(kernel.computed.begin(), kernel.computed.end());
  while (!waiting.empty()) {
    const Instruction* x = waiting.back();
    waiting.pop_back();
    if (!seen.insert(x).second) continue;
    add_operations_of(*x, kernel.cost);
    for (const Value& operand : x->operands()) {
      const Value from = behind_views(operand);
      if (inline_.contains(from.def)) waiting.push_back(from.def);
    }
  }
}

std::vector<Kernel> KernelMaker::make() {
  for (const Instruction* x : computation_.instructions()) {
    if (!x->is(Opcode::convolution)) continue;
    const auto& attrs = x->attrs<ConvolutionAttrs>();
    add_tiled_axes(x->operand(0).type(), attrs.input_batch_dimension, attrs.input_feature_dimension,
                   tiled_axes_);
    add_tiled_axes(x->operand(1).type(), attrs.kernel_input_feature_dimension,
                   attrs.kernel_output_feature_dimension, tiled_axes_);
    add_tiled_axes(x->type(), attrs.output_batch_dimension, attrs.output_feature_dimension,
                   tiled_axes_);
  }
  for (const Instruction* x : computation_.instructions()) {
    if (x->is(Opcode::parameter)) continue;
    find_times(*x);
    if (is_view(*x)) continue;
    find_reads(*x);
    if (x->is(Opcode::return_)) continue;
    if (is_inline(*x)) {
      inline_.insert(x);
      if (is_slice(*x) && !inline_.contains(behind_views(x->operand(0)).def))
        reads_[x] = large_reads_[x] = {Value{const_cast<Instruction*>(x), 0}};
      continue;
    }
    add_captures(*x);
    if (x->is(Opcode::constant)) continue;
    place(*x);
  }
  find_arrays();
  return std::move(kernels_);
}

}  // namespace

std::vector<Kernel> make_kernels(const Computation& computation) {
  return KernelMaker(computation).make();
}

Value memory_of(Value value) {
  for (;;) {
    const Instruction& x = *value.def;
    if (x.num_operands() == 0) return value;
    if (x.is(Opcode::while_)) {
      if (is_copied(x, value.index)) return value;
      value = x.operand(value.index);
    } else if (x.is(Opcode::optimization_barrier) || x.is(Opcode::scatter)) {
      value = x.operand(value.index);
    } else if (is_view(x) || is_update(x)) {
      value = x.operand(0);
    } else if (is_slice_in_place(x)) {
      value = x.operand(0);
    } else {
      return value;
    }
  }
}

}  // namespace systole::hlo
