#include "systole/hlo/analysis/counted_loop.h"

#include <algorithm>
#include <cstdlib>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

// Far from where sums of 32-bit counters overflow.
constexpr int64_t kMaxCounter = int64_t{1} << 30;
// Sums and conditions of more terms, each counted as often as it is used, are as good as unknown.
constexpr int kMaxTerms = 64;

std::optional<int64_t> small_integer(Value value) {
  const Tensor* const constant = constant_of(value);
  if (constant == nullptr || constant->shape().rank() != 0) return std::nullopt;
  int64_t number = 0;
  if (constant->dtype() == DType::s32) {
    number = constant->item<int32_t>();
  } else if (constant->dtype() == DType::s64) {
    number = constant->item<int64_t>();
  } else {
    return std::nullopt;
  }
  if (number > kMaxCounter || number < -kMaxCounter) return std::nullopt;
  return number;
}

bool is_parameter(Value value, const Computation& region) {
  return value.def->is(Opcode::parameter) && &value.def->parent() == &region;
}

int parameter_index(Value value) { return value.def->attrs<ParameterAttrs>().index; }

// Iterations until `counter < limit`, or another comparison, is false for the first time.
std::optional<int64_t> iterations(Linear counter, ComparisonDirection direction, int64_t limit) {
  switch (direction) {
    case ComparisonDirection::le:
      return iterations(counter, ComparisonDirection::lt, limit + 1);
    case ComparisonDirection::gt:
      return iterations({-counter.start, -counter.step}, ComparisonDirection::lt, -limit);
    case ComparisonDirection::ge:
      return iterations({-counter.start, -counter.step}, ComparisonDirection::le, -limit);
    case ComparisonDirection::lt:
      break;
    default:
      return std::nullopt;
  }
  if (counter.start >= limit) return 0;
  if (counter.step <= 0) return std::nullopt;
  return (limit - counter.start + counter.step - 1) / counter.step;
}

// Whether the slice's sizes are one row, and whole in all other axes.
bool is_row(const Shape& row, const Shape& array) {
  if (row.rank() != array.rank() || row.rank() == 0 || row[0] != 1) return false;
  return std::equal(row.begin() + 1, row.end(), array.begin() + 1);
}

bool stays_within(const Linear& index, int64_t trips, int64_t rows) {
  if (trips <= 0) return false;
  const auto [low, high] = std::minmax({index.at(0), index.at(trips - 1)});
  return low >= 0 && high < rows;
}

}  // namespace

LoopCounters::LoopCounters(const Instruction& loop) : loop_(loop) {
  find_counters();
  int terms = kMaxTerms;
  trips_ = trips_of(loop.region(0).results()[0], terms);
}

void LoopCounters::find_counters() {
  const Computation& body = loop_.region(1);
  carried_.resize(static_cast<size_t>(loop_.num_results()));
  for (int i = 0; i < loop_.num_results(); ++i) {
    const std::optional<int64_t> start = small_integer(loop_.operand(i));
    if (!start) continue;
    const Value next = body.results()[i];
    const bool adds = next.def->is(Opcode::add);
    if (!adds && !next.def->is(Opcode::subtract)) continue;
    Value base = next.def->operand(0);
    Value step = next.def->operand(1);
    if (adds && step == body.parameter(i)) std::swap(base, step);
    const std::optional<int64_t> number = small_integer(step);
    if (base != body.parameter(i) || !number) continue;
    carried_[i] = Linear{*start, adds ? *number : -*number};
  }
}

std::optional<Linear> LoopCounters::linear(Value value) const {
  int terms = kMaxTerms;
  return linear(value, terms);
}

std::optional<Linear> LoopCounters::linear(Value value, int& terms) const {
  if (--terms < 0) return std::nullopt;
  if (const std::optional<int64_t> number = small_integer(value)) return Linear{*number, 0};
  if (is_parameter(value, loop_.region(0)) || is_parameter(value, loop_.region(1))) {
    return carried_[parameter_index(value)];
  }
  // Into a fusion, and out of it.
  if (value.def->is(Opcode::fusion))
    return linear(value.def->region().results()[static_cast<size_t>(value.index)], terms);
  const Instruction* const owner = value.def->parent().owner();
  if (value.def->is(Opcode::parameter) && owner != nullptr && owner->is(Opcode::fusion))
    return linear(owner->operand(parameter_index(value)), terms);
  const bool adds = value.def->is(Opcode::add);
  if ((!adds && !value.def->is(Opcode::subtract)) || value.shape().rank() != 0) return std::nullopt;
  const std::optional<Linear> a = linear(value.def->operand(0), terms);
  const std::optional<Linear> b = linear(value.def->operand(1), terms);
  if (!a || !b) return std::nullopt;
  const int64_t sign = adds ? 1 : -1;
  return Linear{a->start + sign * b->start, a->step + sign * b->step};
}

std::optional<int> LoopCounters::parameter_of_step(int64_t step) const {
  const auto it = std::ranges::find_if(
      carried_, [step](const std::optional<Linear>& c) { return c && c->step == step; });
  if (step == 0 || it == carried_.end()) return std::nullopt;
  return static_cast<int>(it - carried_.begin());
}

std::optional<int> LoopCounters::counter_for(int64_t step) const {
  const std::optional<int> same = parameter_of_step(step);
  return same ? same : parameter_of_step(-step);
}

std::optional<int64_t> LoopCounters::trips_of(Value condition, int& terms) const {
  if (--terms < 0) return std::nullopt;
  if (condition.def->is(Opcode::compare)) return trips_of_comparison(*condition.def);
  if (!condition.def->is(Opcode::and_)) return std::nullopt;
  const std::optional<int64_t> a = trips_of(condition.def->operand(0), terms);
  const std::optional<int64_t> b = trips_of(condition.def->operand(1), terms);
  if (!a || !b) return std::nullopt;
  return std::min(*a, *b);
}

std::optional<int64_t> LoopCounters::trips_of_comparison(const Instruction& compare) const {
  const auto direction = compare.attrs<CompareAttrs>().direction;
  const std::optional<Linear> a = linear(compare.operand(0));
  const std::optional<Linear> b = linear(compare.operand(1));
  if (!a || !b) return std::nullopt;
  // a < b is a - b < 0.
  return iterations({a->start - b->start, a->step - b->step}, direction, 0);
}

Linear by_row(const Linear& number, const Linear& row) {
  const int64_t step = number.step * row.step;
  return {number.start - step * row.start, step};
}

std::optional<RowAccess> match_row_read(Value value, const Instruction& loop,
                                        const LoopCounters& counters) {
  const Instruction* const slice = match(value, Opcode::dynamic_slice);
  if (slice == nullptr || !counters.trips()) return std::nullopt;
  const Value array = slice->operand(0);
  if (loop.region(1).encloses(array.def->parent())) return std::nullopt;
  if (!is_row(slice->shape(), array.shape())) return std::nullopt;
  const std::optional<Linear> at = counters.linear(slice->operand(1));
  if (!at || !stays_within(*at, *counters.trips(), array.shape()[0])) return std::nullopt;
  return RowAccess{.array = array, .row = value, .index = slice->operand(1), .at = *at};
}

namespace {

// The dynamic_update_slice that a value is, or that is this result of a fusion, and its operands as
// the fusion is given them.
struct StackUpdate {
  const Instruction* update = nullptr;
  const Instruction* fusion = nullptr;

  explicit StackUpdate(Value value) {
    if (value.def->is(Opcode::fusion)) {
      fusion = value.def;
      value = fusion->region().results()[static_cast<size_t>(value.index)];
    }
    update = match(value, Opcode::dynamic_update_slice);
  }
  Value operand(int i) const {
    const Value given = update->operand(i);
    if (fusion == nullptr || !is_parameter(given, fusion->region())) return given;
    return fusion->operand(parameter_index(given));
  }
};

}  // namespace

std::optional<RowAccess> match_row_update(const Instruction& loop, int i,
                                          const LoopCounters& counters) {
  const Computation& body = loop.region(1);
  const Value array = body.parameter(i);
  const StackUpdate x(body.results()[i]);
  if (x.update == nullptr || x.operand(0) != array) return std::nullopt;
  if (!counters.trips() || !is_row(x.operand(1).shape(), array.shape())) return std::nullopt;
  const std::optional<Linear> at = counters.linear(x.operand(2));
  if (!at || !stays_within(*at, *counters.trips(), array.shape()[0])) return std::nullopt;
  return RowAccess{.array = array, .row = x.operand(1), .index = x.operand(2), .at = *at};
}

std::optional<RowAccess> match_row_write(const Instruction& loop, int i,
                                         const LoopCounters& counters) {
  if (loop.region(1).parameter(i).def->users().size() != 1) return std::nullopt;
  return match_row_update(loop, i, counters);
}

bool overwrites_carried(const Instruction& loop, int i, const LoopCounters& counters) {
  if (!loop.region(0).parameter(i).def->users().empty()) return false;
  const auto write = match_row_write(loop, i, counters);
  return write && std::abs(write->at.step) == 1 && *counters.trips() == write->array.shape()[0];
}

Value row_behind(Value value) {
  const Instruction* const reshape = match(value, Opcode::reshape);
  if (reshape == nullptr) return value;
  const Shape& row = reshape->operand(0).shape();
  const bool drops_first = row.rank() == value.shape().rank() + 1 && row[0] == 1 &&
                           std::equal(row.begin() + 1, row.end(), value.shape().begin());
  return drops_first ? reshape->operand(0) : value;
}

Value build_index(const Instruction& loop, const LoopCounters& counters, const Linear& at,
                  Instruction* before) {
  const Value counter = loop.region(1).parameter(*counters.counter_for(at.step));
  const Linear counted = *counters.linear(counter);
  Builder b(before->parent(), before);
  b.set_metadata(before->metadata());
  const auto number = [&](int64_t n) { return b.scalar(counter.dtype(), static_cast<double>(n)); };
  if (counted.step != at.step) return b.subtract(number(at.start + counted.start), counter);
  const int64_t offset = at.start - counted.start;
  return offset == 0 ? counter : b.add(counter, number(offset));
}

Instruction* add_stacks(Instruction& loop, const LoopCounters& counters,
                        const std::vector<Stack>& stacks) {
  Computation& body = loop.region(1);
  Builder outside(loop.parent(), &loop);
  outside.set_metadata(loop.metadata());
  Builder inside(body, body.terminator());
  inside.set_metadata(loop.metadata());
  std::vector<Value> operands(loop.operands().begin(), loop.operands().end());
  std::vector<TensorType> types(loop.results().begin(), loop.results().end());
  std::vector<Value> next(body.results().begin(), body.results().end());
  for (const Stack& stack : stacks) {
    Dims dims = stack.value.shape().dims();
    dims.insert(dims.begin(), stack.rows);
    const TensorType type{stack.value.dtype(), Shape(dims)};
    dims[0] = 1;
    loop.region(0).add_parameter(type);
    const Value carried = body.add_parameter(type);
    const Value index = build_index(loop, counters, stack.at, body.terminator());
    std::vector<Value> starts(dims.size(), inside.scalar(index.dtype(), 0));
    starts[0] = index;
    next.push_back(
        inside.dynamic_update_slice(carried, inside.reshape(stack.value, Shape(dims)), starts));
    operands.push_back(outside.splat(type, 0));
    types.push_back(type);
  }
  body.set_results(std::move(next));
  Instruction* fresh = loop.parent().insert(Opcode::while_, std::move(operands), std::move(types),
                                            loop.attrs(), &loop);
  fresh->set_metadata(loop.metadata());
  ValueMap map;
  for (const auto& region : loop.regions()) fresh->add_region().clone_from(*region, map);
  for (int i = 0; i < loop.num_results(); ++i) {
    Computation::replace_all_uses(loop.result(i), fresh->result(i));
  }
  loop.parent().erase(&loop);
  return fresh;
}

namespace {

bool visit_loops(const Computation& computation,
                 const std::function<bool(Instruction& loop)>& visit) {
  bool changed = false;
  for (Instruction* instruction : computation.instructions()) {
    for (const auto& region : instruction->regions()) changed |= visit_loops(*region, visit);
    if (instruction->is(Opcode::while_)) changed |= visit(*instruction);
  }
  return changed;
}

}  // namespace

bool for_each_loop(Module& module, const std::function<bool(Instruction& loop)>& visit) {
  bool changed = false;
  for (const auto& function : module.functions()) changed |= visit_loops(*function, visit);
  return changed;
}

}  // namespace systole::hlo
