#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/runtime/collective.h"
#include "systole/tracing/span.h"

namespace systole::runtime {
namespace {

// What a rank brings to an operation. Equal on all ranks but for the value.
struct Contribution {
  std::string operation;  // with its root or reduction
  const Tensor* value = nullptr;
};

// The ranks meet twice in an operation: when all have brought their values, and when all have read
// the others', so that none returns while another reads its value.
class Group {
 public:
  Group(int size, std::chrono::milliseconds timeout)
      : timeout_(timeout), given_(static_cast<size_t>(size)) {}

  int size() const { return static_cast<int>(given_.size()); }

  // Brings a value, which must stay in place until the next call of meet(), and waits for those of
  // all ranks.
  void bring(int rank, Contribution contribution) {
    MutexLock lock(mutex_);
    given_[rank] = std::move(contribution);
    meet(lock);
  }

  // The values of all ranks, between bring() and meet(). Errors: INVALID_ARGUMENT if ranks differ.
  std::vector<const Tensor*> values() {
    const MutexLock lock(mutex_);
    std::vector<const Tensor*> values;
    for (const Contribution& other : given_) {
      check_same(other);
      values.push_back(other.value);
    }
    return values;
  }

  void meet() {
    MutexLock lock(mutex_);
    meet(lock);
  }

  void leave() {
    const MutexLock lock(mutex_);
    left_ = true;
    changed_.notify_all();
  }

  // Ends the operation of the others, too.
  void fail(const Error& error) {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = error;
    changed_.notify_all();
  }

 private:
  // Waits for all ranks.
  void meet(MutexLock& lock) SYSTOLE_REQUIRES(mutex_) {
    throw_failure();
    const int64_t meeting = meetings_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++meetings_;
      changed_.notify_all();
      return;
    }
    const bool in_time = changed_.wait_for(lock, timeout_, [&]() SYSTOLE_REQUIRES(mutex_) {
      return meetings_ > meeting || left_ || failure_.has_value();
    });
    if (meetings_ > meeting) return;
    if (!in_time && !failure_) {
      failure_ = make_error(Code::deadline_exceeded,
                            "collective: ranks, got {} of {} within {} ms, expected all", arrived_,
                            size(), timeout_.count());
      changed_.notify_all();
    }
    throw_failure();
  }

  void throw_failure() SYSTOLE_REQUIRES(mutex_) {
    if (left_ && !failure_) {
      failure_ = make_error(Code::aborted, "collective: a rank has left the group of {}", size());
    }
    if (failure_) throw Error(*failure_);
  }

  void check_same(const Contribution& other) {
    const Contribution& first = given_.front();
    const bool typed = first.value != nullptr && other.value != nullptr;
    if (other.operation == first.operation &&
        (!typed || other.value->type() == first.value->type())) {
      return;
    }
    const auto text = [](const Contribution& c) {
      return c.value == nullptr ? c.operation
                                : fmt::format("{} of {}", c.operation, c.value->type());
    };
    throw invalid_argument("collective: operation, got {} on one rank and {} on another",
                           text(first), text(other));
  }

  const std::chrono::milliseconds timeout_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Contribution> given_;
  int arrived_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  int64_t meetings_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  bool left_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ SYSTOLE_GUARDED_BY(mutex_);
};

class InMemoryCollective final : public Collective {
 public:
  InMemoryCollective(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  ~InMemoryCollective() override { group_->leave(); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void all_reduce(Tensor& value, Reduction reduction) override {
    operate(
        fmt::format("all_reduce {}", static_cast<int>(reduction)), &value,
        [&](const auto& values) { return reduced(values, reduction); },
        [&](Tensor result) { value = std::move(result); });
  }

  Tensor all_gather(const Tensor& value) override {
    Tensor gathered;
    operate("all_gather", &value, gather, [&](Tensor result) { gathered = std::move(result); });
    return gathered;
  }

  void broadcast(Tensor& value, int root) override {
    if (root < 0 || root >= size()) {
      throw invalid_argument("collective: root, got {}, expected 0 to {}", root, size() - 1);
    }
    operate(
        fmt::format("broadcast from {}", root), &value,
        [&](const auto& values) { return values[root]->clone(); },
        [&](Tensor result) { value = std::move(result); });
  }

  void barrier() override {
    operate(
        "barrier", nullptr, [](const auto&) { return Tensor(); }, [](const Tensor&) {});
  }

 private:
  static Tensor reduced(const std::vector<const Tensor*>& values, Reduction reduction) {
    Tensor result(values[0]->type());
    std::vector<const void*> elements;
    for (const Tensor* value : values) elements.push_back(value->raw());
    reduce_in_pairs(result.dtype(), elements, result.num_elements(), reduction, result.raw());
    return result;
  }

  static Tensor gather(const std::vector<const Tensor*>& values) {
    const TensorType type = values[0]->type();
    if (type.dtype == DType::string) throw invalid_argument("all_gather: dtype, got string");
    Dims dims = type.shape.dims();
    dims.insert(dims.begin(), static_cast<int64_t>(values.size()));
    Tensor all(type.dtype, Shape(dims));
    const auto bytes = static_cast<size_t>(type.byte_size());
    for (size_t r = 0; r < values.size() && bytes > 0; ++r) {
      std::memcpy(static_cast<std::byte*>(all.raw()) + r * bytes, values[r]->raw(), bytes);
    }
    return all;
  }

  // `compute` makes the result of all ranks' values; `store` puts it in place after all ranks have
  // read them. Ranks also wait for each other before they throw, since others read their values.
  template <class Compute, class Store>
  void operate(std::string operation, const Tensor* value, Compute&& compute, Store&& store) {
    const tracing::Span span(operation, tracing::Kind::collective);
    group_->bring(rank_, {std::move(operation), value});
    Tensor result;
    std::optional<Error> failure;
    try {
      result = compute(group_->values());
    } catch (const Error& error) {
      failure = error;
    }
    group_->meet();
    if (failure) {
      group_->fail(*failure);
      throw Error(*failure);
    }
    store(std::move(result));
  }

  std::shared_ptr<Group> group_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Collective>> make_in_memory_collectives(
    int size, std::chrono::milliseconds timeout) {
  if (size < 1) throw invalid_argument("collective: size, got {}, expected at least 1", size);
  const auto group = std::make_shared<Group>(size, timeout);
  std::vector<std::unique_ptr<Collective>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<InMemoryCollective>(group, r));
  return ranks;
}

}  // namespace systole::runtime
