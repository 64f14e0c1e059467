#include "systole/data/stage.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "systole/base/clock.h"
#include "systole/base/mutex.h"
#include "systole/base/random.h"
#include "systole/data/recycle.h"
#include "systole/tracing/span.h"

namespace systole::data {
namespace {

// Calls longer than this are all timed; of shorter ones, one in kSampling.
constexpr double kAlwaysTimedNs = 2000;
constexpr int64_t kSampling = 16;

// The cost of timing itself: more than a short call where reading the clock is a system call.
int64_t timing_cost_ns() {
  static const int64_t cost = [] {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 100; ++i) {
      const int64_t begin = steady_ns();
      least = std::min(least, steady_ns() - begin);
    }
    return least;
  }();
  return cost;
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) {
  const auto half = [](uint64_t v, int i) { return static_cast<uint32_t>(v >> (32 * i)); };
  const auto block = threefry2x32({half(a, 0), half(a, 1)}, {half(b, 0), half(b, 1)});
  return (uint64_t{block[1]} << 32) | block[0];
}

// Functions have small numbers, which are added: iterators with neighbouring numbers must not share
// random numbers, nor must inputs that run side by side.
CallContext StageContext::calling() const {
  return {.epoch = epoch, .entropy = mix(root->entropy(), branch), .root = root};
}

StageContext StageContext::in_epoch(uint64_t i) const {
  StageContext result = *this;
  result.epoch = mix(epoch + 1, i);
  return result;
}

StageContext StageContext::in_branch(uint64_t i) const {
  StageContext result = *this;
  result.branch = mix(branch + 1, i);
  return result;
}

StageContext StageContext::in_function(uint64_t i, bool traced) const {
  StageContext result = in_epoch(i);
  result.nested = true;
  result.lasting = lasting && traced;
  return result;
}

Error no_value_of(const Output& parameter) {
  return failed_precondition(
      "Dataset: tensor '{}', got no value for it, expected one that was known when the data set "
      "was "
      "made: functions of C++ that make data sets are not searched for what is fed",
      parameter.name());
}

const Tensor& IteratorRoot::value_of(const Output& parameter) const {
  const auto it = parameters_.find(parameter);
  if (it == parameters_.end()) throw no_value_of(parameter);
  return it->second;
}

StageCounters* IteratorRoot::counters(const DatasetNode& node, const StageContext& context) {
  if (!options_.stats) return nullptr;
  const MutexLock lock(mutex_);
  auto& entry = counters_[&node];
  if (entry == nullptr) {
    entry = std::make_unique<StageCounters>();
    entry->name = node.name();
    entry->traced_name = tracing::intern(node.name());
    entry->depth = context.depth;
    entry->nested = context.nested;
    order_.push_back(entry.get());
    if (context.consumer != nullptr) context.consumer->inputs.push_back(entry.get());
  }
  return entry.get();
}

std::vector<StageStats> IteratorRoot::stats() const {
  const MutexLock lock(mutex_);
  std::vector<StageStats> result;
  std::unordered_map<const StageCounters*, int>
      around;  // threads that run the inside of a function
  for (const StageCounters* stage : order_) {
    const int64_t inclusive = stage->inclusive_ns;
    const bool threaded = stage->threads > 0;
    const auto it = around.find(stage);
    const int threads = (it == around.end() ? 1 : it->second) * std::max(stage->threads.load(), 1);
    // Threads work on what is in their function, and wait for other inputs.
    int64_t inputs_ns = 0;
    for (const StageCounters* input : stage->inputs) {
      if (!threaded || input->nested) inputs_ns += input->inclusive_ns;
      if (input->nested) around[input] = threads;
    }
    const int64_t all = threaded ? stage->busy_ns.load() : inclusive;
    const int64_t own = std::max<int64_t>(all - inputs_ns, 0);
    result.push_back({.name = stage->name,
                      .depth = stage->depth,
                      .threaded = threaded,
                      .threads = threads,
                      .elements = stage->elements,
                      .busy_seconds = 1e-9 * static_cast<double>(own),
                      .waited_seconds = threaded ? 1e-9 * static_cast<double>(inclusive) : 0});
  }
  return result;
}

bool Stage::next(Components& row) {
  return counted([&] { return do_next(row); });
}

bool Stage::next_text(std::string_view& text) {
  return counted([&] { return do_next_text(text); });
}

bool Stage::next_into(Components& row) {
  return counted([&] { return do_next_into(row); });
}

bool Stage::do_next_into(Components& row) {
  if (std::ranges::any_of(row, &Tensor::is_lent)) row.clear();
  return do_next(row);
}

bool Stage::do_next_text(std::string_view& text) {
  if (!do_next(text_row_)) return false;
  text = text_of(text_row_);
  return true;
}

template <class Ask>
bool Stage::counted(const Ask& ask) {
  if (counters_ == nullptr) return ask();
  const bool sampled = mean_ns_ < kAlwaysTimedNs && calls_ > 2;
  ++calls_;
  const bool more = !sampled || calls_ % kSampling == 0 ? timed(ask) : ask();
  if (more && counters_->nested) {
    counters_->elements.fetch_add(1, std::memory_order_relaxed);
  } else if (more) {
    // Only one thread writes at a time: an atomic addition would wait for all earlier writes.
    std::atomic<int64_t>& elements = counters_->elements;
    elements.store(elements.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  return more;
}

template <class Ask>
bool Stage::timed(const Ask& ask) {
  const bool sampled = mean_ns_ < kAlwaysTimedNs && calls_ > 3;
  const int64_t begin = steady_ns();
  const int64_t traced = tracing::active() ? tracing::ticks() : 0;
  const auto note = [&] {
    if (traced != 0) tracing::record_if_long(traced, counters_->traced_name, tracing::Kind::input);
    const int64_t took = std::max<int64_t>(steady_ns() - begin - timing_cost_ns(), 0);
    counters_->inclusive_ns.fetch_add(sampled ? took * kSampling : took, std::memory_order_relaxed);
    mean_ns_ += (static_cast<double>(took) - mean_ns_) / 4;
  };
  bool more = false;
  try {
    more = ask();
  } catch (...) {
    note();
    throw;
  }
  note();
  return more;
}

void Stage::note_threads(int count) {
  if (counters_ != nullptr) counters_->threads = count;
}

void Stage::note_work(std::chrono::nanoseconds took) {
  if (counters_ != nullptr) counters_->busy_ns += took.count();
}

std::string Stage::saved_name() const { return fmt::format("{}{}", node_->name(), form()); }

void Stage::save(StateWriter& writer) {
  writer.bytes(saved_name());
  do_save(writer);
}

void Stage::restore(StateReader& reader) {
  reader.expect(saved_name());
  do_restore(reader);
}

DatasetNode::DatasetNode(std::string name, Spec spec, std::vector<NodePtr> inputs)
    : name_(std::move(name)),
      spec_(std::move(spec)),
      types_(spec_.flatten()),
      inputs_(std::move(inputs)),
      size_(1) {
  for (const NodePtr& input : inputs_) size_ += input->size();
}

std::string DatasetNode::to_string() const {
  std::string text;
  if (inputs_.size() == 1) {
    text = inputs_.front()->to_string() + ".";
  } else if (!inputs_.empty()) {
    for (const NodePtr& input : inputs_) text += (text.empty() ? "[" : ", ") + input->to_string();
    text += "].";
  }
  return text + name_ + "(" + arguments() + ")";
}

void each_node(const DatasetNode& last, const std::function<void(const DatasetNode&)>& f) {
  std::unordered_set<const DatasetNode*> seen;
  const auto walk = [&](const auto& self, const DatasetNode& node) -> void {
    if (!seen.insert(&node).second) return;
    for (const NodePtr& input : node.inputs()) self(self, *input);
    f(node);
  };
  walk(walk, last);
}

std::unique_ptr<Stage> make_stage(const NodePtr& node, StageContext context) {
  StageCounters* const counters =
      context.lasting ? context.root->counters(*node, context) : nullptr;
  context.consumer = counters;
  ++context.depth;
  std::unique_ptr<Stage> stage = node->make(context);
  stage->node_ = node.get();
  stage->counters_ = counters;
  return stage;
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(Code::unknown, error.what());
  } catch (...) {
    return Error(Code::unknown, "an exception that is no std::exception");
  }
}

bool fits(const Tensor& tensor, const TensorType& type) {
  return tensor.dtype() == type.dtype && type.shape.compatible_with(tensor.shape());
}

void check_row(std::string_view what, const Components& row, const std::vector<TensorType>& types,
               std::optional<int64_t> element) {
  const auto where = [&] {
    return element ? fmt::format("{}: element {}", what, *element) : std::string(what);
  };
  if (row.size() != types.size()) {
    throw invalid_argument("{}: number of components, got {}, expected {}", where(), row.size(),
                           types.size());
  }
  for (size_t i = 0; i < row.size(); ++i) {
    if (!fits(row[i], types[i])) {
      throw invalid_argument("{}: component {}, got {}, expected {}", where(), i, row[i].type(),
                             types[i]);
    }
  }
}

}  // namespace systole::data
