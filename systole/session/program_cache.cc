#include "systole/session/program_cache.h"

#include <algorithm>

#include "systole/base/log.h"
#include "systole/base/mutex.h"

namespace systole {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15ULL; }

uint64_t hash_of(std::span<const FetchKey> fetches, const FeedValues& feeds) {
  uint64_t hash = fetches.size();
  for (const FetchKey& fetch : fetches) {
    hash = mix(hash, reinterpret_cast<uintptr_t>(fetch.node) + static_cast<uint64_t>(fetch.index));
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    hash = mix(hash, reinterpret_cast<uintptr_t>(feeds.keys[i].node()));
    hash = mix(hash, static_cast<uint64_t>(feeds.values[i]->dtype()));
    for (const int64_t dim : feeds.values[i]->shape()) hash = mix(hash, static_cast<uint64_t>(dim));
  }
  return hash ^ (hash >> 32);
}

// "X is f32[100,5], was f32[1,5]" for the first feed that differs.
std::string difference(const ProgramKey& now, const ProgramKey& before) {
  for (size_t i = 0; i < std::min(now.feeds.size(), before.feeds.size()); ++i) {
    const Feed& a = now.feeds[i];
    const Feed& b = before.feeds[i];
    if (!(a.output == b.output)) break;
    if (a.type != b.type) return fmt::format("{} is {}, was {}", a.output.name(), a.type, b.type);
  }
  return "other tensors are fed";
}

}  // namespace

const Program& ProgramCache::find_or_compile(std::span<const FetchKey> fetches,
                                             const FeedValues& feeds) {
  const uint64_t hash = hash_of(fetches, feeds);
  {
    const ReaderLock lock(mutex_);
    if (const Program* program = find(hash, fetches, feeds)) return *program;
  }
  const MutexLock compiling(compile_mutex_);
  const Program* sibling = nullptr;
  {
    const ReaderLock lock(mutex_);
    if (const Program* program = find(hash, fetches, feeds)) return *program;
    for (const Program* other : in_order_) {
      const ProgramKey& key = other->key();
      if (key.device_only == feeds.device_only && std::ranges::equal(key.fetches, fetches))
        sibling = other;
    }
  }
  auto program =
      std::make_unique<Program>(graph_, make_key(fetches, feeds), client_, options_, state_);
  log_compiled(*program, sibling);
  const WriterLock lock(mutex_);
  compile_seconds_ += program->compile_seconds();
  in_order_.push_back(program.get());
  programs_[hash].push_back(std::move(program));
  return *in_order_.back();
}

const Program* ProgramCache::find(uint64_t hash, std::span<const FetchKey> fetches,
                                  const FeedValues& feeds) const {
  const auto it = programs_.find(hash);
  if (it == programs_.end()) return nullptr;
  for (const auto& program : it->second) {
    if (program->matches(fetches, feeds)) return program.get();
  }
  return nullptr;
}

ProgramKey ProgramCache::make_key(std::span<const FetchKey> fetches,
                                  const FeedValues& feeds) const {
  ProgramKey key;
  key.device_only = feeds.device_only;
  for (const FetchKey& fetch : fetches) {
    if (&fetch.node->graph() != &graph_) {
      throw invalid_argument(
          "Session.run: fetch '{}' ({}) is not an element of this session's graph",
          fetch.node->name(), fetch.node->describe());
    }
    key.fetches.push_back(fetch);
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Output output = feeds.keys[i];
    const Tensor& value = *feeds.values[i];
    if (!output.valid()) throw invalid_argument("Session.run: a feed's key is an empty handle");
    if (&output.graph() != &graph_) {
      throw invalid_argument("Session.run: feed '{}' is not an element of this session's graph",
                             output.name());
    }
    if (!value.valid())
      throw invalid_argument("Session.run: feed for '{}' is an empty Tensor", output.name());
    if (value.dtype() != output.dtype()) {
      throw invalid_argument(
          "Session.run: dtype fed to '{}', got {}, expected {}, as Tensor::cast makes it ({})",
          output.name(), value.dtype(), output.dtype(), output.node()->describe());
    }
    if (!value.shape().compatible_with(output.shape())) {
      throw invalid_argument("Session.run: shape fed to '{}', got {}, expected {} ({})",
                             output.name(), value.shape(), output.shape(),
                             output.node()->describe());
    }
    if (std::ranges::count(feeds.keys, output) > 1) {
      throw invalid_argument("Session.run: '{}' is fed twice", output.name());
    }
    key.feeds.push_back({output, value.type()});
  }
  return key;
}

void ProgramCache::log_compiled(const Program& program, const Program* sibling) const {
  const std::string what = fmt::format("compiled {} in {:.0f} ms{}", program.key().to_string(),
                                       program.compile_seconds() * 1e3,
                                       program.code_cached() ? " with code from the cache" : "");
  if (sibling == nullptr) {
    log_debug("Session: {}", what);
  } else {
    log_info("Session: {}, again because {}", what, difference(program.key(), sibling->key()));
  }
}

ProgramCache::Stats ProgramCache::stats() const {
  const ReaderLock lock(mutex_);
  return {.programs = static_cast<int64_t>(in_order_.size()), .compile_seconds = compile_seconds_};
}

}  // namespace systole
