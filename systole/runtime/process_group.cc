#include "systole/runtime/process_group.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "systole/base/environment.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/runtime/mpi_collective.h"
#include "systole/runtime/mpi_heartbeat.h"
#include "systole/runtime/mpi_library.h"
#include "systole/runtime/ordered_work.h"
#include "systole/tracing/span.h"

namespace systole::runtime {

ProcessGroup::ProcessGroup(std::unique_ptr<Collective> steps, std::unique_ptr<Collective> rare,
                           OnFailure on_failure)
    : rank_(steps->rank()),
      size_(steps->size()),
      steps_(std::move(steps)),
      rare_(std::move(rare)),
      on_failure_(std::move(on_failure)),
      sums_(std::make_unique<OrderedWork>()) {}

ProcessGroup::ProcessGroup() = default;
ProcessGroup::~ProcessGroup() = default;

namespace {

// A collective may give a tensor other memory.
void copy_back(const Tensor& value, void* to) {
  if (value.raw() != to) std::memcpy(to, value.raw(), static_cast<size_t>(value.byte_size()));
}

}  // namespace

template <class Work>
void ProcessGroup::guarded(Wait wait, Work&& work) {
  sums_->wait_for_all();
  exchange(wait, work);
}

template <class Work>
void ProcessGroup::exchange(Wait wait, Work&& work) {
  const MutexLock lock(mutex_);
  try {
    work(wait == Wait::step ? *steps_ : *rare_);
  } catch (const Error& error) {
    const bool is_lost = error.code() == Code::aborted || error.code() == Code::internal ||
                         error.code() == Code::deadline_exceeded;
    if (is_lost && on_failure_) on_failure_(error);
    throw;
  }
}

namespace {

size_t bytes_of(DType dtype, int64_t count) {
  return static_cast<size_t>(TensorType{dtype, Shape{count}}.byte_size());
}

void add_up(DType dtype, const void* lanes, int64_t num_lanes, int64_t count, void* sum) {
  std::vector<const void*> values;
  for (int64_t lane = 0; lane < num_lanes; ++lane) {
    values.push_back(static_cast<const std::byte*>(lanes) + bytes_of(dtype, lane * count));
  }
  reduce_in_pairs(dtype, values, count, Reduction::sum, sum);
}

// Copies the lanes of each term after one another into rows of `count` elements.
void pack(DType dtype, std::span<const ProcessGroup::SumTerm> terms, int64_t num_lanes,
          int64_t count, std::byte* rows) {
  for (const ProcessGroup::SumTerm& term : terms) {
    const size_t bytes = bytes_of(dtype, term.count);
    for (int64_t lane = 0; lane < num_lanes; ++lane) {
      std::memcpy(rows + bytes_of(dtype, lane * count + term.at),
                  static_cast<const std::byte*>(term.lanes) + static_cast<size_t>(lane) * bytes,
                  bytes);
    }
  }
}

}  // namespace

int64_t ProcessGroup::sum_rows(DType dtype, int64_t num_lanes) const {
  // A sum of 16-bit numbers is rounded once, after the last addition.
  const bool rounds_once = dtype == DType::f16 || dtype == DType::bf16;
  const bool can_start = std::has_single_bit(static_cast<uint64_t>(num_lanes)) && !rounds_once;
  return size_ == 1 || num_lanes == 1 || can_start ? 1 : num_lanes * size_;
}

void ProcessGroup::start_sums(DType dtype, std::span<const SumTerm> terms, int64_t num_lanes,
                              int64_t count, void* workspace) {
  const bool one_row = sum_rows(dtype, num_lanes) == 1;
  const int64_t own_count = one_row ? count : num_lanes * count;
  const size_t own_bytes = bytes_of(dtype, own_count);
  auto* const own =
      static_cast<std::byte*>(workspace) + (one_row ? 0 : static_cast<size_t>(rank_) * own_bytes);
  std::memset(own, 0, own_bytes);  // what is between terms is exchanged, too
  if (one_row) {
    for (const SumTerm& term : terms) {
      add_up(dtype, term.lanes, num_lanes, term.count, own + bytes_of(dtype, term.at));
    }
  } else {
    pack(dtype, terms, num_lanes, count, own);
  }
  if (size_ == 1) return;
  sums_->add(workspace, [=, this] {
    exchange(Wait::step, [&](Collective& group) {
      Tensor value = Tensor::lent(dtype, Shape{own_count}, own);
      if (one_row) {
        group.all_reduce(value, Reduction::sum);
        copy_back(value, own);
      } else {
        copy_back(group.all_gather(value), workspace);
      }
    });
  });
}

void ProcessGroup::finish_sums(DType dtype, int64_t num_lanes, int64_t count, void* workspace,
                               void* sums) {
  if (size_ > 1) {
    const tracing::Span span("wait for sums", tracing::Kind::collective);
    sums_->finish(workspace);
  }
  const int64_t rows = sum_rows(dtype, num_lanes);
  if (rows > 1) return add_up(dtype, workspace, rows, count, sums);
  if (sums != workspace) std::memcpy(sums, workspace, bytes_of(dtype, count));
}

void ProcessGroup::drop_sums() {
  if (size_ > 1) sums_->drop_all();
}

void ProcessGroup::gather_bytes(const void* own, int64_t bytes, void* all) {
  const auto count = static_cast<size_t>(bytes);
  if (size_ == 1) {
    std::memcpy(all, own, count);
    return;
  }
  guarded(Wait::step, [&](Collective& group) {
    const Tensor gathered =
        group.all_gather(Tensor::lent(DType::u8, Shape{bytes}, const_cast<void*>(own)));
    std::memcpy(all, gathered.raw(), count * static_cast<size_t>(size_));
  });
}

void ProcessGroup::reduce_min(std::span<int64_t> numbers, Wait wait) {
  if (size_ == 1) return;
  guarded(wait, [&](Collective& group) {
    Tensor value =
        Tensor::lent(DType::s64, Shape{static_cast<int64_t>(numbers.size())}, numbers.data());
    group.all_reduce(value, Reduction::min);
    copy_back(value, numbers.data());
  });
}

int64_t ProcessGroup::sum_of(int64_t number, Wait wait) {
  if (size_ == 1) return number;
  Tensor value(number);
  guarded(wait, [&](Collective& group) { group.all_reduce(value, Reduction::sum); });
  return value.item<int64_t>();
}

void ProcessGroup::broadcast(Tensor& value) {
  if (size_ == 1) return;
  guarded(Wait::rare, [&](Collective& group) { group.broadcast(value, 0); });
}

std::string ProcessGroup::broadcast(const std::string& bytes) {
  if (size_ == 1) return bytes;
  Tensor size(static_cast<int64_t>(bytes.size()));
  broadcast(size);
  std::string all(static_cast<size_t>(size.item<int64_t>()), '\0');
  if (all.empty()) return all;
  if (rank_ == 0) all = bytes;
  Tensor value = Tensor::lent(DType::u8, Shape{static_cast<int64_t>(all.size())}, all.data());
  broadcast(value);
  copy_back(value, all.data());
  return all;
}

std::vector<std::string> ProcessGroup::gather(const std::string& text) {
  if (size_ == 1) return {text};
  std::vector<std::string> all;
  guarded(Wait::rare, [&](Collective& group) {
    const Tensor sizes = group.all_gather(Tensor(static_cast<int64_t>(text.size())));
    const std::span<const int64_t> size = sizes.data<int64_t>();
    const int64_t most = std::max<int64_t>(*std::max_element(size.begin(), size.end()), 1);
    std::string own = text;
    own.resize(static_cast<size_t>(most));
    const Tensor bytes = group.all_gather(Tensor::lent(DType::u8, Shape{most}, own.data()));
    for (int r = 0; r < size_; ++r) {
      const auto* const first = static_cast<const char*>(bytes.raw()) + r * most;
      all.emplace_back(first, static_cast<size_t>(size[r]));
    }
  });
  return all;
}

void ProcessGroup::barrier() {
  if (size_ == 1) return;
  guarded(Wait::rare, [&](Collective& group) { group.barrier(); });
}

namespace {

constexpr const char* kTimeoutVariable = "SYSTOLE_MPI_TIMEOUT_SECS";
constexpr std::chrono::minutes kRareTimeout(10);

std::chrono::milliseconds step_timeout() {
  const std::string text = environment_value(kTimeoutVariable);
  if (text.empty()) return std::chrono::seconds(20);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0)) {
    throw invalid_argument("mpi: {}, got '{}', expected seconds, more than 0", kTimeoutVariable,
                           text);
  }
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// The job cannot continue: messages of a process that is gone would be waited for in every step.
void end_job(const Error& error) {
  const MpiJob& job = mpi_job();
  log_error(
      "{}; rank {} of {} ends the job with exit code {}: start it again, training continues from "
      "its newest checkpoint",
      error.what(), job.rank, job.size, kRestartExitCode);
  const MutexLock lock(mpi_mutex());
  job.functions->abort(kRestartExitCode);
  std::_Exit(kRestartExitCode);
}

// The heartbeat ends first: others need not listen to a process that ends.
struct Processes {
  std::unique_ptr<ProcessGroup> group;
  std::unique_ptr<MpiHeartbeat> heartbeat;
};

Processes find_processes() {
  if (!is_launched()) return {};
  if (num_launched_processes() == 1) return {.group = std::make_unique<ProcessGroup>()};
  const auto timeout = step_timeout();
  auto group = std::make_unique<ProcessGroup>(make_mpi_collective(timeout),
                                              make_mpi_collective(kRareTimeout), end_job);
  return {.group = std::move(group), .heartbeat = std::make_unique<MpiHeartbeat>(timeout, end_job)};
}

}  // namespace

ProcessGroup* process_group() {
  static const Processes processes = find_processes();
  return processes.group.get();
}

}  // namespace systole::runtime
