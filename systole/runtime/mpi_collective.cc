#include "systole/runtime/mpi_collective.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/runtime/mpi_library.h"
#include "systole/tracing/span.h"

namespace systole::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSmallBytes = 16 << 10;   // sent to all ranks at once
constexpr int64_t kChunkBytes = 1 << 20;    // of a slice; a few are under way at a time
constexpr int64_t kMessageBytes = 1 << 30;  // MPI counts in int
constexpr size_t kChunksInFlight = 4;
constexpr int32_t kLeaveTag = 1;
constexpr int32_t kGiveTag = 16;
constexpr int32_t kResultTag = kGiveTag + 4096;
constexpr int64_t kTagsInUse = 4096;
constexpr size_t kTextBytes = 256;
// A message between processes of one machine takes about a microsecond.
constexpr std::chrono::microseconds kSpin(30);
// After another rank has left, its last messages may still arrive.
constexpr std::chrono::milliseconds kLastMessages(500);

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// The requests of an operation. Those of a failed operation stay open, and so does their memory.
class Requests {
 public:
  explicit Requests(const MpiFunctions& mpi) : mpi_(mpi) {}

  template <class Start, class... Args>
  void add(Start start, Args... args) {
    void* request = nullptr;
    check_mpi(start(args..., &request), "start of a message");
    open_.push_back(request);
  }

  // Returns how many have ended since the last call.
  size_t test() {
    size_t ended = 0;
    for (void*& request : open_) {
      int done = 0;
      check_mpi(mpi_.test(&request, &done), "message");
      if (done != 0) ++ended;
    }
    std::erase(open_, nullptr);
    return ended;
  }
  bool empty() const { return open_.empty(); }

 private:
  const MpiFunctions& mpi_;
  std::vector<void*> open_;
};

class MpiCollective final : public Collective {
 public:
  explicit MpiCollective(std::chrono::milliseconds timeout)
      : job_(mpi_job()), mpi_(*job_.functions), timeout_(timeout) {
    const std::lock_guard lock(mpi_lock_);
    check_mpi(mpi_.open_group(&group_), "MPI_Comm_dup");
    check_mpi(mpi_.receive(group_, nullptr, 0, -1, kLeaveTag, &leave_), "MPI_Irecv");
  }

  ~MpiCollective() override {
    const std::lock_guard lock(mpi_lock_);
    for (int r = 0; r < size(); ++r) {
      void* request = nullptr;  // without bytes: done at once, and MPI ends what is not
      if (r != rank()) mpi_.send(group_, nullptr, 0, r, kLeaveTag, &request);
    }
    if (leave_ != nullptr) mpi_.cancel(&leave_);
  }

  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }

  void all_reduce(Tensor& value, Reduction reduction) override {
    const std::lock_guard lock(mpi_lock_);
    static constexpr std::array<const char*, 3> kNames = {"sum", "min", "max"};
    begin(fmt::format("all_reduce {} of {}", kNames.at(static_cast<size_t>(reduction)),
                      value.type()));
    check_reducible(value.dtype(), reduction);
    if (value.num_elements() == 0) return;
    if (!value.unique()) value = value.clone();
    guarded(value, [&] {
      if (value.byte_size() <= kSmallBytes) {
        reduce_all(value, reduction);
      } else {
        reduce_slices(value, reduction);
      }
    });
  }

  Tensor all_gather(const Tensor& value) override {
    const std::lock_guard lock(mpi_lock_);
    begin(fmt::format("all_gather of {}", value.type()));
    if (value.dtype() == DType::string) {
      throw invalid_argument("all_gather: dtype, got string");
    }
    Dims dims = value.shape().dims();
    dims.insert(dims.begin(), size());
    Tensor all(value.dtype(), Shape(dims));
    guarded(all, [&] { gather(value.raw(), value.byte_size(), all.raw()); });
    return all;
  }

  void broadcast(Tensor& value, int root) override {
    if (root < 0 || root >= size()) {
      throw invalid_argument("collective: root, got {}, expected 0 to {}", root, size() - 1);
    }
    const std::lock_guard lock(mpi_lock_);
    begin(fmt::format("broadcast from {} of {}", root, value.type()));
    if (value.dtype() == DType::string) throw invalid_argument("broadcast: dtype, got string");
    if (!value.unique()) value = value.clone();
    guarded(value, [&] {
      auto* const bytes = static_cast<std::byte*>(value.raw());
      for (int64_t at = 0; at < value.byte_size(); at += kMessageBytes) {
        Requests& requests = new_requests();
        requests.add(mpi_.broadcast, group_, bytes + at,
                     std::min(kMessageBytes, value.byte_size() - at), root);
        wait(requests);
      }
    });
  }

  void barrier() override {
    const std::lock_guard lock(mpi_lock_);
    begin("barrier");
  }

 private:
  struct Chunk {
    int64_t number = 0;
    std::vector<std::vector<std::byte>> values;  // of my slice, by rank
    Requests* exchange = nullptr;                // until my slice's values are there
    Requests* results = nullptr;                 // then until all slices' results are
  };

  static void check_reducible(DType dtype, Reduction reduction) {
    reduce_in_pairs(dtype, {}, 0, reduction, nullptr);
  }

  // Requests outlive a failed operation: MPI still reads and writes what they name.
  Requests& new_requests() { return requests_.emplace_back(mpi_); }

  // Runs the messages of an operation. A failure ends the group, and keeps the memory.
  template <class Work>
  void guarded(const Tensor& memory, Work&& work) {
    const tracing::Span span(operation_, tracing::Kind::collective);
    try {
      work();
      requests_.clear();
    } catch (...) {
      failed_ = true;
      new Tensor(memory);  // NOLINT: never freed, MPI may write there until the process ends
      new std::deque<Requests>(std::move(requests_));
      new std::deque<std::vector<std::byte>>(std::move(scratch_));
      throw;
    }
  }

  // Meets all ranks, and throws on all of them if their operations differ.
  void begin(const std::string& operation) {
    if (failed_) throw make_error(Code::aborted, "mpi: the group cannot be used after an error");
    operation_ = operation;
    const tracing::Span span("meet", tracing::Kind::collective);
    const uint64_t hash = hash_of(operation);
    auto hashes = std::make_unique<std::array<uint64_t, 2>>();
    *hashes = {hash, ~hash};
    Requests& requests = new_requests();
    requests.add(mpi_.max, group_, hashes->data(), 2);
    try {
      wait(requests);
    } catch (...) {
      static_cast<void>(hashes.release());  // MPI may write there
      failed_ = true;
      throw;
    }
    requests_.clear();
    if ((*hashes)[0] == ~(*hashes)[1]) return;
    failed_ = true;
    throw_difference(operation);
  }

  [[noreturn]] void throw_difference(const std::string& operation) {
    std::string own = operation;
    own.resize(kTextBytes - 1);
    own.push_back('\0');
    std::string all(kTextBytes * static_cast<size_t>(size()), '\0');
    gather(own.data(), kTextBytes, all.data());
    const std::string first = all.substr(0, all.find('\0'));
    for (int r = 1; r < size(); ++r) {
      const std::string other(all.data() + kTextBytes * static_cast<size_t>(r));
      if (other == first) continue;
      throw invalid_argument(
          "collective: operation, got {} on one rank and {} on another (rank {})", first, other, r);
    }
    throw internal_error("collective: operation, got '{}', whose hash differs", operation);
  }

  void gather(const void* from, int64_t bytes, void* to) {
    auto* const target = static_cast<std::byte*>(to);
    const int64_t piece = std::max(kChunkBytes, kMessageBytes / size());
    if (bytes <= piece) {
      Requests& requests = new_requests();
      requests.add(mpi_.gather, group_, from, to, bytes);
      return wait(requests);
    }
    std::vector<std::byte>& some = scratch(piece * size());
    for (int64_t at = 0; at < bytes; at += piece) {
      const int64_t count = std::min(piece, bytes - at);
      Requests& requests = new_requests();
      requests.add(mpi_.gather, group_, static_cast<const std::byte*>(from) + at, some.data(),
                   count);
      wait(requests);
      for (int r = 0; r < size(); ++r) {
        std::memcpy(target + r * bytes + at, some.data() + r * count, static_cast<size_t>(count));
      }
    }
  }

  void reduce_all(Tensor& value, Reduction reduction) {
    std::vector<std::byte>& all = scratch(value.byte_size() * size());
    gather(value.raw(), value.byte_size(), all.data());
    std::vector<const void*> values;
    for (int r = 0; r < size(); ++r) values.push_back(all.data() + r * value.byte_size());
    reduce_in_pairs(value.dtype(), values, value.num_elements(), reduction, value.raw());
    scratch_.clear();
  }

  // -- Sums by owners. Rank r owns slice r of the elements. It gets each chunk of the slice from
  // all ranks, adds them up and sends the result to all.

  void reduce_slices(Tensor& value, Reduction reduction) {
    element_bytes_ = value.byte_size() / value.num_elements();
    slice_ = (value.num_elements() + size() - 1) / size();
    chunk_ = kChunkBytes / element_bytes_;
    const int64_t count = (slice_ + chunk_ - 1) / chunk_;
    std::deque<Chunk> under_way;
    int64_t next = 0;
    progress_ = Clock::now();
    while (next < count || !under_way.empty()) {
      if (next < count && under_way.size() < kChunksInFlight) {
        exchange(under_way.emplace_back(), next++, value);
      }
      for (Chunk& chunk : under_way) advance(chunk, value, reduction);
      while (!under_way.empty() && is_done(under_way.front())) under_way.pop_front();
      check_progress();
    }
  }

  static bool is_done(const Chunk& chunk) {
    return chunk.results != nullptr && chunk.results->empty();
  }

  // Elements [first, first + count) of a chunk of the slice of `owner`.
  struct Range {
    int64_t first;
    int64_t count;
  };
  Range range(int owner, int64_t chunk, const Tensor& value) const {
    const int64_t slice_end = std::min(value.num_elements(), (owner + 1) * slice_);
    const int64_t first = std::min(slice_end, owner * slice_ + chunk * chunk_);
    return {first, std::min(chunk_, slice_end - first)};
  }
  std::byte* place(const Range& range, Tensor& value) const {
    return static_cast<std::byte*>(value.raw()) + range.first * element_bytes_;
  }

  void exchange(Chunk& chunk, int64_t number, Tensor& value) {
    chunk.number = number;
    chunk.exchange = &new_requests();
    const auto tag = static_cast<int32_t>(kGiveTag + number % kTagsInUse);
    const Range own = range(rank(), number, value);
    chunk.values.resize(static_cast<size_t>(size()));
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      if (own.count > 0) {
        std::vector<std::byte>& from = chunk.values[r];
        from.resize(static_cast<size_t>(own.count * element_bytes_));
        chunk.exchange->add(mpi_.receive, group_, from.data(), own.count * element_bytes_, r, tag);
      }
      const Range other = range(r, number, value);
      if (other.count == 0) continue;
      chunk.exchange->add(mpi_.send, group_, place(other, value), other.count * element_bytes_, r,
                          tag);
    }
  }

  void advance(Chunk& chunk, Tensor& value, Reduction reduction) {
    Requests& open = chunk.results == nullptr ? *chunk.exchange : *chunk.results;
    if (open.test() > 0) progress_ = Clock::now();
    if (chunk.results == nullptr && open.empty()) share(chunk, value, reduction);
  }

  void share(Chunk& chunk, Tensor& value, Reduction reduction) {
    const Range own = range(rank(), chunk.number, value);
    std::vector<const void*> values;
    for (const auto& from : chunk.values) values.push_back(from.data());
    values[rank()] = place(own, value);
    reduce_in_pairs(value.dtype(), values, own.count, reduction, place(own, value));
    chunk.results = &new_requests();
    const auto tag = static_cast<int32_t>(kResultTag + chunk.number % kTagsInUse);
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      if (own.count > 0) {
        chunk.results->add(mpi_.send, group_, place(own, value), own.count * element_bytes_, r,
                           tag);
      }
      const Range other = range(r, chunk.number, value);
      if (other.count == 0) continue;
      chunk.results->add(mpi_.receive, group_, place(other, value), other.count * element_bytes_, r,
                         tag);
    }
  }

  // -- Waiting

  void wait(Requests& requests) {
    progress_ = Clock::now();
    while (!requests.empty()) {
      if (requests.test() > 0) progress_ = Clock::now();
      if (!requests.empty()) check_progress();
    }
  }

  // Lets other threads work, and throws when there is nothing left to wait for.
  void check_progress() {
    const auto waited = Clock::now() - progress_;
    if (waited < kSpin) return;
    mpi_lock_.unlock();
    std::this_thread::yield();
    const bool is_long = waited >= std::chrono::milliseconds(2);
    if (is_long) std::this_thread::sleep_for(std::chrono::microseconds(50));
    mpi_lock_.lock();
    if (!is_long) return;
    int left = 0;
    if (leave_ != nullptr) check_mpi(mpi_.test(&leave_, &left), "message");
    if (leave_ == nullptr && waited > kLastMessages) {
      throw make_error(Code::aborted, "mpi: {}: another rank has left the group of {}", operation_,
                       size());
    }
    if (waited < timeout_) return;
    abort_mpi_at_exit();
    throw make_error(Code::deadline_exceeded,
                     "mpi: {}: rank {} of {} waited {} ms, and another rank did not come",
                     operation_, rank(), size(), timeout_.count());
  }

  std::vector<std::byte>& scratch(int64_t bytes) {
    return scratch_.emplace_back(static_cast<size_t>(bytes));
  }

  const MpiJob& job_;
  const MpiFunctions& mpi_;
  const std::chrono::milliseconds timeout_;
  std::unique_lock<Mutex> mpi_lock_{mpi_mutex(), std::defer_lock};  // held in operations
  void* group_ = nullptr;
  void* leave_ = nullptr;  // a receive of the message that a leaving rank sends; null: it has come
  std::string operation_;
  bool failed_ = false;
  std::deque<Requests> requests_;
  std::deque<std::vector<std::byte>> scratch_;
  Clock::time_point progress_;
  int64_t element_bytes_ = 0;
  int64_t slice_ = 0;  // elements
  int64_t chunk_ = 0;  // elements
};

}  // namespace

std::unique_ptr<Collective> make_mpi_collective(std::chrono::milliseconds timeout) {
  return std::make_unique<MpiCollective>(timeout);
}

}  // namespace systole::runtime
