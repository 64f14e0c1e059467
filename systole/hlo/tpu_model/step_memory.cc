#include "systole/hlo/tpu_model/step_memory.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/tpu_model/kernels.h"

namespace systole::hlo {
namespace {

// An array in memory.
struct Interval {
  Value value;
  TensorType type;
  double bytes = 0;
  int kernel = 0;  // that makes it
  int begin = 0;
  std::vector<int> uses;  // places, in order

  int end() const { return uses.empty() ? begin : uses.back(); }
};

// Live arrays of one computation over the places of its kernels.
class Liveness {
 public:
  Liveness(const Computation& computation, BytesOf bytes_of);

  double peak() const { return peak_; }
  void recompute_until(double limit, std::vector<const Instruction*>& recomputed);
  void add_live(std::vector<LiveArray>& live) const;

 private:
  void find_order();
  void find_tail();
  void find_intervals();
  void add_use(Value of, int place);
  std::unordered_set<Value, ValueHash> free_arrays() const;
  double inner_peak(const Kernel& kernel) const;
  void find_peak();
  double saved_by(const Interval& interval) const;
  int copy_before(Value value, int place) const;
  bool recompute_one(std::vector<const Instruction*>& recomputed);
  const Kernel& kernel(int number) const { return kernels_[static_cast<size_t>(number)]; }
  Interval& interval(int number) { return intervals_[static_cast<size_t>(number)]; }
  const Interval& interval(int number) const { return intervals_[static_cast<size_t>(number)]; }

  const Computation& computation_;
  BytesOf bytes_of_;
  std::vector<Kernel> kernels_;
  std::vector<int> order_;                 // kernels
  std::vector<std::vector<int>> used_by_;  // kernels, of a kernel
  std::unordered_set<int> tail_;           // kernels that only lead to results
  std::vector<Interval> intervals_;
  std::unordered_map<Value, std::vector<int>, ValueHash> of_;  // intervals of an array
  std::vector<double> inner_;                                  // of a loop at its place
  double peak_ = 0;
  int peak_place_ = 0;
};

Liveness::Liveness(const Computation& computation, BytesOf bytes_of)
    : computation_(computation), bytes_of_(bytes_of), kernels_(make_kernels(computation)) {
  find_order();
  find_intervals();
  find_peak();
}

void Liveness::find_tail() {
  for (int k = static_cast<int>(kernels_.size()) - 1; k >= 0; --k) {
    const Kernel& x = kernel(k);
    if (x.product || x.loop != nullptr || !x.branches.empty()) continue;
    const auto& users = used_by_[static_cast<size_t>(k)];
    if (std::ranges::all_of(users, [&](int user) { return tail_.contains(user); })) tail_.insert(k);
  }
}

// Program order; what only leads to results runs as soon as it can.
void Liveness::find_order() {
  std::unordered_map<const Instruction*, int> made_by;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    for (const Instruction* x : kernels_[k].computed) made_by[x] = static_cast<int>(k);
  }
  used_by_.resize(kernels_.size());
  std::vector<int> missing(kernels_.size());
  for (size_t k = 0; k < kernels_.size(); ++k) {
    std::unordered_set<int> from;
    for (const KernelArray& read : kernels_[k].reads) {
      Value value = read.value;
      if (!made_by.contains(value.def) && value.def->num_operands() > 0) value = memory_of(value);
      const auto found = made_by.find(value.def);
      if (found != made_by.end() && found->second != static_cast<int>(k))
        from.insert(found->second);
    }
    for (const int of : from) used_by_[static_cast<size_t>(of)].push_back(static_cast<int>(k));
    missing[k] = static_cast<int>(from.size());
  }
  find_tail();
  std::vector<bool> placed(kernels_.size());
  for (size_t k = 0; k < kernels_.size(); ++k) {
    std::vector<int> waiting{static_cast<int>(k)};
    while (!waiting.empty()) {
      const int next = waiting.back();
      waiting.pop_back();
      if (placed[static_cast<size_t>(next)]) continue;
      placed[static_cast<size_t>(next)] = true;
      order_.push_back(next);
      for (const int user : used_by_[static_cast<size_t>(next)]) {
        if (--missing[static_cast<size_t>(user)] == 0 && tail_.contains(user))
          waiting.push_back(user);
      }
    }
  }
}

double Liveness::inner_peak(const Kernel& kernel) const {
  if (kernel.loop != nullptr) return Liveness(*kernel.loop, bytes_of_).peak();
  double most = 0;
  for (const auto* arrays : {&kernel.scratch, &kernel.copies}) {
    for (const KernelArray& array : *arrays) most = std::max(most, array.bytes(bytes_of_));
  }
  for (const Computation* branch : kernel.branches)
    most = std::max(most, Liveness(*branch, bytes_of_).peak());
  return most;
}

// Results that are written over a parameter, or carried by a loop.
std::unordered_set<Value, ValueHash> Liveness::free_arrays() const {
  std::unordered_set<Value, ValueHash> free;
  const auto results = computation_.results();
  if (computation_.owner() != nullptr) {
    for (const Value& result : results) free.insert(memory_of(result));
    return free;
  }
  for (const Module::Alias& alias : computation_.module().aliases) {
    if (alias.result < static_cast<int>(results.size()))
      free.insert(memory_of(results[static_cast<size_t>(alias.result)]));
  }
  return free;
}

void Liveness::find_intervals() {
  const std::unordered_set<Value, ValueHash> free = free_arrays();
  inner_.assign(order_.size(), 0);
  for (size_t i = 0; i < order_.size(); ++i) {
    const int place = static_cast<int>(i);
    const Kernel& x = kernel(order_[i]);
    inner_[i] = inner_peak(x);
    for (const KernelArray& array : x.writes) {
      if (!array.type.is_static() || free.contains(array.value)) continue;
      if (memory_of(array.value) != array.value) continue;
      of_[array.value].push_back(static_cast<int>(intervals_.size()));
      intervals_.push_back({.value = array.value,
                            .type = array.type,
                            .bytes = array.bytes(bytes_of_),
                            .kernel = order_[i],
                            .begin = place});
    }
    for (const KernelArray& array : x.reads) add_use(array.value, place);
  }
  if (computation_.owner() != nullptr) return;
  for (const Value& result : computation_.results()) {
    const Value array = memory_of(result);
    add_use(array, static_cast<int>(order_.size()) - 1);
  }
}

void Liveness::add_use(Value of, int place) {
  const auto found = of_.find(memory_of(of));
  if (found == of_.end()) return;
  for (const int i : found->second) {
    std::vector<int>& uses = interval(i).uses;
    if (uses.empty() || uses.back() < place) uses.push_back(place);
  }
}

void Liveness::find_peak() {
  std::vector<double> change(order_.size() + 1);
  for (const Interval& interval : intervals_) {
    change[static_cast<size_t>(interval.begin)] += interval.bytes;
    change[static_cast<size_t>(interval.end()) + 1] -= interval.bytes;
  }
  double live = 0;
  peak_ = 0;
  for (size_t place = 0; place < order_.size(); ++place) {
    live += change[place];
    if (live + inner_[place] <= peak_) continue;
    peak_ = live + inner_[place];
    peak_place_ = static_cast<int>(place);
  }
}

// The bytes at the peak that it saves to compute the array again after it; 0 if that is not
// possible.
double Liveness::saved_by(const Interval& array) const {
  const Kernel& maker = kernel(array.kernel);
  if (array.begin >= peak_place_ || array.end() <= peak_place_) return 0;
  if (maker.loop != nullptr || !maker.branches.empty()) return 0;
  if (std::ranges::binary_search(array.uses, peak_place_)) return 0;
  const int next = *std::ranges::upper_bound(array.uses, peak_place_);
  double saved = array.bytes;
  for (const KernelArray& read : maker.reads) {
    const int source = copy_before(memory_of(read.value), next);
    // What it is computed from must live until then.
    if (source >= 0 && interval(source).begin <= peak_place_ &&
        interval(source).end() < peak_place_) {
      saved -= interval(source).bytes;
    }
  }
  return saved;
}

// The latest copy of an array that is made before `place`; -1 for parameters.
int Liveness::copy_before(Value value, int place) const {
  const auto found = of_.find(value);
  int latest = -1;
  if (found == of_.end()) return latest;
  for (const int i : found->second) {
    if (interval(i).begin < place && (latest < 0 || interval(i).begin > interval(latest).begin))
      latest = i;
  }
  return latest;
}

bool Liveness::recompute_one(std::vector<const Instruction*>& recomputed) {
  int best = -1;
  double best_score = 0;
  for (size_t i = 0; i < intervals_.size(); ++i) {
    const double saved = saved_by(intervals_[i]);
    if (saved <= 0) continue;
    const double score = saved / (kernel(intervals_[i].kernel).cost.operations() + 1);
    if (best >= 0 && score <= best_score) continue;
    best = static_cast<int>(i);
    best_score = score;
  }
  if (best < 0) return false;
  Interval& first = interval(best);
  const auto split = std::ranges::upper_bound(first.uses, peak_place_);
  Interval again = first;
  again.begin = *split;
  again.uses = {split, first.uses.end()};
  first.uses.erase(split, first.uses.end());
  for (const KernelArray& read : kernel(again.kernel).reads) {
    const int source = copy_before(memory_of(read.value), again.begin);
    if (source < 0) continue;
    std::vector<int>& uses = interval(source).uses;
    const auto where = std::ranges::lower_bound(uses, again.begin);
    if (where == uses.end() || *where != again.begin) uses.insert(where, again.begin);
  }
  recomputed.push_back(kernel(again.kernel).root);
  of_[again.value].push_back(static_cast<int>(intervals_.size()));
  intervals_.push_back(std::move(again));
  return true;
}

void Liveness::recompute_until(double limit, std::vector<const Instruction*>& recomputed) {
  const size_t most = 4 * intervals_.size();
  for (size_t i = 0; i < most && peak_ > limit && recompute_one(recomputed); ++i) find_peak();
}

void Liveness::add_live(std::vector<LiveArray>& live) const {
  for (const Interval& interval : intervals_) {
    if (interval.begin <= peak_place_ && interval.end() >= peak_place_)
      live.push_back({interval.value, interval.type, interval.bytes});
  }
}

}  // namespace

std::unique_ptr<Module> tpu_program(const Module& module) {
  auto program = module.clone();
  PipelineOptions options = PipelineOptions::from_environment();
  for (const char* pass : {"dedupe_loop_state", "forward_loop_slices", "reuse_forward_residuals",
                           "recompute_loop_residuals", "sink_loop_accumulations"}) {
    options.disabled.emplace_back(pass);
  }
  optimize(*program, options);
  return program;
}

StepMemory step_memory(const Module& program, BytesOf bytes_of, const MemoryOptions& options) {
  const Computation& entry = program.entry();
  StepMemory memory;
  for (int i = 0; i < entry.num_parameters(); ++i)
    memory.parameters += bytes_of(entry.parameter(i).type());
  Liveness liveness(entry, bytes_of);
  if (options.limit > 0) {
    const double state = options.state > 0 ? options.state : memory.parameters;
    liveness.recompute_until(options.limit - state, memory.recomputed);
  }
  liveness.add_live(memory.largest);
  std::ranges::stable_sort(memory.largest, std::greater(), &LiveArray::bytes);
  double small = 0;
  for (const LiveArray& array : memory.largest) {
    if (array.bytes <= options.on_chip / 2) small += array.bytes;
  }
  memory.temporaries = liveness.peak() - std::min(small, options.on_chip);
  return memory;
}

}  // namespace systole::hlo
