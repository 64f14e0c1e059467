#include "systole/backends/cpu/analysis/buffer_assignment.h"

#include <algorithm>

#include "systole/backends/cpu/analysis/arena_index.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/base/error.h"

namespace systole::cpu {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// Values that lie in the same memory.
struct Buffer {
  std::vector<Value> values;
  // Once lifetimes are final: by value, which are ordered by their begin, the last end of a
  // lifetime up to there. A chain of thunks that compute in place has as many values as thunks.
  std::vector<int> last_end;
  std::optional<Slice> fixed;
  bool writable = true;
  int64_t bytes = 0;
  Lifetime lifetime;
};

}  // namespace

bool Slice::overlaps(const Slice& other) const {
  if (memory != other.memory || bytes == 0 || other.bytes == 0) return false;
  if (memory != Memory::temp) return index == other.index;
  return offset < other.offset + other.bytes && other.offset < offset + bytes;
}

class BufferPlanner {
 public:
  BufferPlanner(const hlo::Module& module, const BufferOptions& options, BufferAssignment& out)
      : module_(module), options_(options), out_(out), liveness_(module.entry()) {}

  void plan() {
    extend_lifetimes();
    for (const Value& value : liveness_.values()) start_buffer(value);
    join_same_contents();
    join_results();
    if (options_.reuse) {
      join_loops();
      join_branches();
      join_in_place();
    }
    place();
    plan_moves();
  }

 private:
  void extend_lifetimes();
  void start_buffer(Value value);
  void join_same_contents();
  void join_results();
  void join_loops();
  void join_branches();
  void join_in_place();
  void place();
  void plan_moves();

  int find(Value value) const { return buffer_of_.at(value); }
  Buffer& buffer(Value value) { return buffers_[u(find(value))]; }
  void join(int a, int b);
  bool try_join(Value a, Value b);
  bool interfere(const Buffer& a, const Buffer& b) const;
  bool interfere(const Buffer& a, Value b) const;
  bool interfere(Value a, Value b) const;
  int begin_of(Value value) const { return liveness_.lifetime(value).front().begin; }
  int end_of(Value value) const { return liveness_.lifetime(value).back().end; }
  void order_by_time(Buffer& buffer, size_t first_changed) const;
  bool written_over(Value read, Value written) const;
  bool starts_loop(Value first, Value state) const;
  Slice staging(int64_t bytes);
  std::vector<Move> moves(std::span<const Value> from, const std::vector<Value>& to);

  const hlo::Module& module_;
  const BufferOptions& options_;
  BufferAssignment& out_;
  Liveness liveness_;
  std::vector<Buffer> buffers_;
  std::unordered_map<Value, int, hlo::ValueHash> buffer_of_;
};

void BufferPlanner::extend_lifetimes() {
  for (const Instruction* x : liveness_.program()) {
    if (!x->is(Opcode::while_)) continue;
    const Interval run = liveness_.run(*x);
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < x->num_operands(); ++k) {
        const Value state = x->region(r).parameter(k);
        liveness_.extend(state, {run.begin, liveness_.run(*state.def).begin});
      }
    }
  }
}

void BufferPlanner::start_buffer(Value value) {
  const Instruction& x = *value.def;
  Buffer buffer{.values = {value}, .bytes = value.type().byte_size()};
  if (x.is(Opcode::constant)) {
    buffer.fixed =
        Slice{Memory::constant, static_cast<int>(out_.constants_.size()), 0, buffer.bytes};
    out_.constants_.push_back(x.attrs<hlo::ConstantAttrs>().value);
    buffer.writable = false;
  } else if (x.is(Opcode::parameter) && &x.parent() == &module_.entry()) {
    buffer.fixed = Slice{Memory::argument, x.attrs<hlo::ParameterAttrs>().index, 0, buffer.bytes};
    buffer.writable = false;
  }
  buffer_of_[value] = static_cast<int>(buffers_.size());
  buffers_.push_back(std::move(buffer));
}

void BufferPlanner::join(int a, int b) {
  if (a == b) return;
  Buffer& into = buffers_[u(a)];
  Buffer& from = buffers_[u(b)];
  if (from.fixed) into.fixed = from.fixed;
  into.writable = into.writable && from.writable;
  into.bytes = std::max(into.bytes, from.bytes);
  for (const Value& value : from.values) buffer_of_[value] = a;
  const size_t before = into.values.size();
  into.values.insert(into.values.end(), from.values.begin(), from.values.end());
  if (!into.last_end.empty()) order_by_time(into, before);
  from.values.clear();
}

// Puts the values from `first_changed` on, which are in order, among those before, which are too.
void BufferPlanner::order_by_time(Buffer& buffer, size_t first_changed) const {
  const auto begins = [this](const Value& value) { return begin_of(value); };
  const auto middle = buffer.values.begin() + static_cast<std::ptrdiff_t>(first_changed);
  const auto place =
      middle == buffer.values.end()
          ? middle
          : std::ranges::upper_bound(buffer.values.begin(), middle, begins(*middle), {}, begins);
  std::ranges::inplace_merge(place, middle, buffer.values.end(), {}, begins);
  const auto from = static_cast<size_t>(place - buffer.values.begin());
  buffer.last_end.resize(buffer.values.size());
  for (size_t i = from; i < buffer.values.size(); ++i) {
    const int end = end_of(buffer.values[i]);
    buffer.last_end[i] = i == 0 ? end : std::max(end, buffer.last_end[i - 1]);
  }
}

// `state` is a loop's, and takes over the memory of its first value.
bool BufferPlanner::starts_loop(Value first, Value state) const {
  const Instruction* loop = state.def->parent().owner();
  if (loop == nullptr || !loop->is(Opcode::while_)) return false;
  const int k = state.def->attrs<hlo::ParameterAttrs>().index;
  return loop->operand(k) == first &&
         liveness_.lifetime(first).back().end == liveness_.run(*loop).begin &&
         liveness_.lifetime(state).front().begin == liveness_.run(*loop).begin;
}

// `written`'s thunk ends the life of `read`, and may write over it.
bool BufferPlanner::written_over(Value read, Value written) const {
  const Instruction& thunk = *written.def;
  if (!options_.reuse || has_programs(thunk)) return false;
  if (thunk.is(Opcode::parameter)) return starts_loop(read, written);
  const int time = liveness_.run(thunk).begin;
  if (liveness_.lifetime(read).back().end != time ||
      liveness_.lifetime(written).front().begin != time) {
    return false;
  }
  bool used = false;
  for (int i = 0; i < thunk.num_operands(); ++i) {
    if (thunk.operand(i) != read) continue;
    if (!options_.in_place(thunk, i, written.index)) return false;
    used = true;
  }
  return used;
}

bool BufferPlanner::interfere(Value a, Value b) const {
  const Lifetime& of_a = liveness_.lifetime(a);
  const Lifetime& of_b = liveness_.lifetime(b);
  if (!overlap(of_a, of_b)) return false;
  if (written_over(a, b)) {
    Lifetime shortened = of_a;
    if (--shortened.back().end < shortened.back().begin) shortened.pop_back();
    return overlap(shortened, of_b);
  }
  if (written_over(b, a)) return interfere(b, a);
  return true;
}

bool BufferPlanner::interfere(const Buffer& a, const Buffer& b) const {
  return std::ranges::any_of(b.values, [&](const Value& y) { return interfere(a, y); });
}

bool BufferPlanner::interfere(const Buffer& a, Value b) const {
  if (a.last_end.empty()) {
    return std::ranges::any_of(a.values, [&](const Value& x) { return interfere(x, b); });
  }
  // Only those that begin before its end and do not end before its begin.
  const auto behind = std::ranges::upper_bound(a.values, end_of(b), {},
                                               [this](const Value& x) { return begin_of(x); });
  for (auto i = static_cast<size_t>(behind - a.values.begin()); i > 0; --i) {
    if (a.last_end[i - 1] < begin_of(b)) return false;
    if (interfere(a.values[i - 1], b)) return true;
  }
  return false;
}

bool BufferPlanner::try_join(Value a, Value b) {
  Buffer& x = buffer(a);
  Buffer& y = buffer(b);
  if (&x == &y) return true;
  if (x.fixed && y.fixed) return false;
  if (!x.writable || !y.writable || x.bytes != y.bytes || interfere(x, y)) return false;
  join(find(a), find(b));
  return true;
}

void BufferPlanner::join_same_contents() {
  for (const Instruction* x : liveness_.program()) {
    auto* def = const_cast<Instruction*>(x);
    if (x->traits().has(hlo::kBitcast)) {
      join(find(x->operand(0)), find(def->result()));
    } else if (x->is(Opcode::optimization_barrier)) {
      for (int i = 0; i < x->num_operands(); ++i) join(find(x->operand(i)), find(def->result(i)));
    } else if (x->is(Opcode::while_)) {
      for (int i = 0; i < x->num_operands(); ++i) {
        const int state = find(def->result(i));
        join(state, find(x->region(0).parameter(i)));
        join(state, find(x->region(1).parameter(i)));
      }
    }
  }
}

// Main's results are computed where the caller wants them.
void BufferPlanner::join_results() {
  const auto results = module_.entry().results();
  std::vector<bool> aliased(results.size(), false);
  for (const auto& [parameter, result] : module_.aliases) {
    const Value argument = module_.entry().parameter(parameter);
    const Value value = results[u(result)];
    aliased[u(result)] = true;
    // The argument's buffer may be written only if its last content is the result.
    Buffer& old = buffer(argument);
    const bool plain = std::ranges::all_of(
        old.values, [](const Value& v) { return !v.def->is(Opcode::constant); });
    old.writable = plain;
    if (find(argument) != find(value) && !(options_.reuse && try_join(argument, value)))
      old.writable = false;
  }
  if (!options_.reuse) return;
  for (size_t k = 0; k < results.size(); ++k) {
    Buffer& computed = buffer(results[k]);
    if (aliased[k] || computed.fixed || !computed.writable) continue;
    computed.fixed = Slice{Memory::result, static_cast<int>(k), 0, computed.bytes};
  }
}

// A loop's state starts where its first value is, and the body computes it in place.
void BufferPlanner::join_loops() {
  for (const Instruction* x : liveness_.program()) {
    if (!x->is(Opcode::while_)) continue;
    const int end = liveness_.run(*x->region(1).terminator()).end;
    for (int i = 0; i < x->num_operands(); ++i) {
      const Value state = const_cast<Instruction*>(x)->result(i);
      const Value next = x->region(1).results()[u(i)];
      // The new state stays until the loop ends.
      const bool joined = try_join(state, next);
      const Interval until_end{end, liveness_.run(*x).end};
      liveness_.extend(joined ? next : x->region(1).parameter(i), until_end);
    }
    for (int i = 0; i < x->num_operands(); ++i) {
      try_join(x->operand(i), const_cast<Instruction*>(x)->result(i));
    }
  }
}

// Branches compute their results where they are wanted.
void BufferPlanner::join_branches() {
  for (const Instruction* x : liveness_.program()) {
    if (!x->is(Opcode::if_) && !x->is(Opcode::case_)) continue;
    for (int r = 0; r < x->num_regions(); ++r) {
      const int end = liveness_.run(*x->region(r).terminator()).begin;
      for (int i = 0; i < x->num_results(); ++i) {
        const Value result = const_cast<Instruction*>(x)->result(i);
        if (!try_join(result, x->region(r).results()[u(i)])) liveness_.extend(result, {end, end});
      }
    }
  }
}

void BufferPlanner::join_in_place() {
  for (Buffer& buffer : buffers_) {
    std::ranges::stable_sort(buffer.values, {}, [this](const Value& v) { return begin_of(v); });
    order_by_time(buffer, 0);
  }
  for (const Instruction* x : liveness_.program()) {
    if (has_programs(*x)) continue;
    for (int r = 0; r < x->num_results(); ++r) {
      const Value result = const_cast<Instruction*>(x)->result(r);
      for (int i = 0; i < x->num_operands(); ++i) {
        if (buffer(x->operand(i)).writable && options_.in_place(*x, i, r) &&
            try_join(x->operand(i), result))
          break;
      }
    }
  }
}

// The largest first, each at the lowest place that is free while it lives.
void BufferPlanner::place() {
  for (const Instruction* x : liveness_.program()) {
    const int64_t bytes = options_.scratch_bytes(*x);
    if (bytes == 0) continue;
    const Value scratch{const_cast<Instruction*>(x), -1};
    buffer_of_[scratch] = static_cast<int>(buffers_.size());
    buffers_.push_back({.values = {scratch}, .bytes = bytes, .lifetime = {liveness_.run(*x)}});
  }
  std::vector<Buffer*> in_arena;
  for (Buffer& buffer : buffers_) {
    if (buffer.values.empty() || buffer.fixed) continue;
    for (const Value& value : buffer.values) {
      if (value.index < 0) continue;
      for (const Interval& interval : liveness_.lifetime(value))
        add_interval(buffer.lifetime, interval);
    }
    in_arena.push_back(&buffer);
  }
  std::ranges::stable_sort(in_arena, std::ranges::greater(), &Buffer::bytes);
  ArenaIndex placed(liveness_.last_time());
  for (Buffer* buffer : in_arena) {
    int64_t offset = out_.temp_bytes_;
    if (options_.reuse) {
      offset = placed.lowest_free(buffer->lifetime, buffer->bytes);
      placed.add(buffer->lifetime, {offset, aligned(offset + buffer->bytes)});
    }
    buffer->fixed = Slice{Memory::temp, 0, offset, buffer->bytes};
    out_.temp_bytes_ = std::max(out_.temp_bytes_, aligned(offset + buffer->bytes));
  }
  for (const Buffer& buffer : buffers_) {
    for (const Value& value : buffer.values) {
      if (value.index < 0) {
        out_.scratch_[value.def] = *buffer.fixed;
      } else {
        out_.slices_[value] = *buffer.fixed;
      }
    }
  }
}

Slice BufferPlanner::staging(int64_t bytes) {
  const Slice slice{Memory::temp, 0, out_.temp_bytes_, bytes};
  out_.temp_bytes_ += aligned(bytes);
  return slice;
}

std::vector<Move> BufferPlanner::moves(std::span<const Value> from, const std::vector<Value>& to) {
  std::vector<Move> result;
  for (size_t i = 0; i < to.size(); ++i) result.push_back({out_.slice(from[i]), out_.slice(to[i])});
  return order_moves(std::move(result), [this](int64_t bytes) { return staging(bytes); });
}

void BufferPlanner::plan_moves() {
  for (const Instruction* x : liveness_.program()) {
    if (!has_programs(*x)) continue;
    std::vector<Value> results;
    for (int i = 0; i < x->num_results(); ++i)
      results.push_back(const_cast<Instruction*>(x)->result(i));
    if (x->is(Opcode::while_)) {
      out_.moves_[x] = moves(x->operands(), results);
      out_.moves_[&x->region(1)] = moves(x->region(1).results(), results);
    } else {
      for (int r = 0; r < x->num_regions(); ++r) {
        out_.moves_[&x->region(r)] = moves(x->region(r).results(), results);
      }
    }
  }
  const auto results = module_.entry().results();
  std::vector<Move> last;
  for (size_t k = 0; k < results.size(); ++k) {
    Slice to{Memory::result, static_cast<int>(k), 0, results[k].type().byte_size()};
    for (const auto& [parameter, result] : module_.aliases) {
      if (u(result) == k) to = Slice{Memory::argument, parameter, 0, to.bytes};
    }
    last.push_back({out_.slice(results[k]), to});
  }
  out_.final_moves_ =
      order_moves(std::move(last), [this](int64_t bytes) { return staging(bytes); });
}

BufferAssignment::BufferAssignment(const hlo::Module& module, const BufferOptions& options) {
  BufferPlanner(module, options, *this).plan();
}

Slice BufferAssignment::scratch(const Instruction& thunk) const {
  const auto found = scratch_.find(&thunk);
  return found == scratch_.end() ? Slice{} : found->second;
}

const std::vector<Move>& BufferAssignment::moves_before(const Instruction& loop) const {
  return moves_.at(&loop);
}

const std::vector<Move>& BufferAssignment::moves_after(const Computation& region) const {
  return moves_.at(&region);
}

std::vector<Move> order_moves(std::vector<Move> moves,
                              const std::function<Slice(int64_t bytes)>& staging) {
  std::erase_if(moves, [](const Move& m) { return m.from == m.to || m.from.bytes == 0; });
  std::vector<Move> ordered;
  while (!moves.empty()) {
    const auto free = std::ranges::find_if(moves, [&](const Move& m) {
      return std::ranges::none_of(
          moves, [&](const Move& other) { return &other != &m && other.from.overlaps(m.to); });
    });
    if (free != moves.end()) {
      ordered.push_back(*free);
      moves.erase(free);
      continue;
    }
    const Slice aside = staging(moves.front().from.bytes);
    ordered.push_back({moves.front().from, aside});
    moves.front().from = aside;
  }
  return ordered;
}

}  // namespace systole::cpu
