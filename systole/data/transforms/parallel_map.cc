// map on several threads. A thread takes several elements at once, so that cheap functions do not
// spend their time on the lock. The order is kept unless deterministic is false.
#include <list>

#include "systole/data/graph_function.h"
#include "systole/data/nodes.h"
#include "systole/data/result.h"
#include "systole/data/workers.h"
#include "systole/tracing/span.h"

namespace systole::data {
namespace {

constexpr size_t kLargestThreadChunk = 64;
// Time after which a thread gives the rest of a chunk back: its elements take longer than earlier
// ones.
constexpr auto kLongestChunkTime = 4 * kChunkTime;

class ParallelMapNode final : public DatasetNode {
 public:
  ParallelMapNode(std::string name, NodePtr input, Spec spec, MapArguments arguments)
      : DatasetNode(std::move(name), std::move(spec), {std::move(input)}),
        settings(std::move(arguments)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  const MapArguments* map_arguments() const override { return &settings; }
  std::string arguments() const override {
    return settings.num_parallel_calls == AUTOTUNE
               ? "num_parallel_calls=AUTOTUNE"
               : fmt::format("num_parallel_calls={}", settings.num_parallel_calls);
  }

  const MapArguments settings;
};

class ParallelMapStage final : public InputStage {
 public:
  ParallelMapStage(const ParallelMapNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        in_order_(node.settings.deterministic && !context.any_order),
        calling_(context.calling()),
        workers_(context.cancellation(), thread_count(node.settings.num_parallel_calls, context),
                 [this](Workers::Lock& lock) { return step(lock); }),
        window_(static_cast<size_t>(workers_.count()) * 2) {
    if (!in_order_) context.root->note_any_order();
  }
  ~ParallelMapStage() override { workers_.stop(); }

 protected:
  bool do_next(Components& row) override;
  void do_save(StateWriter& writer) override;
  void do_restore(StateReader& reader) override;
  std::string_view form() const override { return " in threads"; }

 private:
  struct Chunk {
    int64_t first_index = 0;
    std::vector<Result> results;
    size_t next = 0;  // index of the consumer's next result
    enum class State : uint8_t { waiting, busy, done } state = State::waiting;
  };
  using State = Chunk::State;
  using Chunks = std::list<Chunk>;

  bool step(Workers::Lock& lock);
  Chunks::iterator waiting();
  Chunks::iterator take(Workers::Lock& lock);
  size_t apply(Chunk& chunk, ChunkClock::time_point until) const;
  void put_aside(Chunks::iterator chunk, size_t begin);
  Chunks::iterator ready();

  const ParallelMapNode& node_;
  const bool in_order_;
  const CallContext calling_;
  Workers workers_;
  const size_t window_;
  // Guarded by the lock of workers_.
  Chunks chunks_;  // in the order of their elements
  int64_t index_ = 0;
  size_t chunk_size_ = 1;
  bool taking_ = false;  // a thread is reading the input
  bool ended_ = false;
};

// As apply_each().
size_t ParallelMapStage::apply(Chunk& chunk, ChunkClock::time_point until) const {
  const MapArguments& settings = node_.settings;
  if (settings.graph != nullptr) {
    return settings.graph->call_all(chunk.results, chunk.first_index, calling_, until);
  }
  return apply_each(chunk.results, chunk.first_index, *calling_.root, until, settings.fn);
}

// Splits a chunk: its elements from `begin` on wait for a thread.
void ParallelMapStage::put_aside(Chunks::iterator chunk, size_t begin) {
  std::vector<Result>& results = chunk->results;
  const auto rest = results.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto aside = chunks_.emplace(std::next(chunk));
  aside->first_index = chunk->first_index + static_cast<int64_t>(begin);
  std::move(rest, results.end(), std::back_inserter(aside->results));
  results.erase(rest, results.end());
  chunk_size_ = std::max<size_t>(std::min(begin, chunk_size_ / 2), 1);
  workers_.wake_one();
}

// Returns a waiting chunk; end() if there is none, or if enough is done already.
ParallelMapStage::Chunks::iterator ParallelMapStage::waiting() {
  const auto chunk = std::ranges::find(chunks_, State::waiting, &Chunk::state);
  if (chunk == chunks_.begin()) return chunk;
  const auto others = std::ranges::count_if(
      chunks_, [](const Chunk& other) { return other.state != State::waiting; });
  return static_cast<size_t>(others) < window_ ? chunk : chunks_.end();
}

// Returns a new chunk from the input; end() if another thread is reading it, or no more is needed.
ParallelMapStage::Chunks::iterator ParallelMapStage::take(Workers::Lock& lock) {
  if (taking_ || ended_ || chunks_.size() >= window_) return chunks_.end();
  taking_ = true;
  const auto chunk = chunks_.emplace(chunks_.end());
  chunk->state = State::busy;
  chunk->first_index = index_;
  const size_t most = chunk_size_;
  lock.unlock();
  const bool more = pull_chunk(*input_, most, chunk->results);
  lock.lock();
  taking_ = false;
  ended_ = !more;
  index_ += elements_in(chunk->results);
  workers_.wake_one();
  return chunk;
}

bool ParallelMapStage::step(Workers::Lock& lock) {
  auto chunk = waiting();
  if (chunk == chunks_.end()) chunk = take(lock);
  if (chunk == chunks_.end()) return false;
  chunk->state = State::busy;
  lock.unlock();
  const auto begin = ChunkClock::now();
  const size_t applied = [&] {
    const tracing::Span span(traced_name(), tracing::Kind::input);
    return apply(*chunk, begin + kLongestChunkTime);
  }();
  const auto took = ChunkClock::now() - begin;
  lock.lock();
  chunk->state = State::done;
  if (applied < chunk->results.size()) {
    put_aside(chunk, applied);
  } else if (took * 2 < kChunkTime && chunk->results.size() == chunk_size_) {
    chunk_size_ = std::min(chunk_size_ * 2, kLargestThreadChunk);
  } else if (took > kChunkTime * 2) {
    chunk_size_ = std::max<size_t>(chunk_size_ / 2, 1);
  }
  note_work(took);
  return true;
}

// Returns the chunk from which the consumer takes; end() if it is not ready.
ParallelMapStage::Chunks::iterator ParallelMapStage::ready() {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    if (chunk->state == State::done) return chunk;
    if (in_order_) break;
  }
  return chunks_.end();
}

bool ParallelMapStage::do_next(Components& row) {
  Workers::Lock lock = workers_.lock();
  note_threads(workers_.count());
  workers_.start();
  for (;;) {
    auto chunk = chunks_.end();
    workers_.wait(lock, [&] {
      chunk = ready();
      return chunk != chunks_.end() || (ended_ && chunks_.empty());
    });
    if (chunk == chunks_.end()) return false;
    cancellation_.check();  // a cancelled apply() leaves elements unchanged
    if (chunk->next < chunk->results.size()) {
      Result result = std::move(chunk->results[chunk->next++]);
      if (chunk->next == chunk->results.size()) {
        chunks_.erase(chunk);
        workers_.wake();
      }
      lock.unlock();
      row = result.take();
      return true;
    }
    chunks_.erase(chunk);
    workers_.wake();
  }
}

void ParallelMapStage::do_save(StateWriter& writer) {
  const Workers::Pause pause(workers_);
  for (Chunk& chunk : chunks_) {
    if (chunk.state != State::done) apply(chunk, ChunkClock::time_point::max());
    chunk.state = State::done;
  }
  cancellation_.check();  // as in do_next()
  writer.flag(ended_);
  writer.number(static_cast<uint64_t>(index_));
  uint64_t count = 0;
  for (const Chunk& chunk : chunks_) count += chunk.results.size() - chunk.next;
  writer.number(count);
  for (const Chunk& chunk : chunks_) {
    for (size_t i = chunk.next; i < chunk.results.size(); ++i) chunk.results[i].save(writer);
  }
  input_->save(writer);
}

void ParallelMapStage::do_restore(StateReader& reader) {
  ended_ = reader.flag();
  index_ = static_cast<int64_t>(reader.number());
  Chunk chunk;
  restore_results(reader, chunk.results);
  chunk.state = State::done;
  if (!chunk.results.empty()) chunks_.push_back(std::move(chunk));
  input_->restore(reader);
}

std::unique_ptr<Stage> ParallelMapNode::make(const StageContext& context) const {
  return std::make_unique<ParallelMapStage>(*this, context);
}

}  // namespace

NodePtr parallel_map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments) {
  return std::make_shared<ParallelMapNode>(std::move(name), std::move(input), std::move(spec),
                                           std::move(arguments));
}

}  // namespace systole::data
