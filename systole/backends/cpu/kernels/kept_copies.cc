#include "systole/backends/cpu/kernels/kept_copies.h"

#include <algorithm>
#include <utility>

namespace systole::cpu {
namespace {

// Uses of a kernel, which several steps of a program may share, before an array comes again. What
// does not come for longer belongs to buffers that are gone.
constexpr int64_t kMinUses = 1024;
constexpr int64_t kUsesACopy = 4;

}  // namespace

// A new source takes the place of one that has not come for long.
KeptCopies::Entry& KeptCopies::entry_of(const void* source) {
  ++uses_;
  const auto found = std::ranges::find(entries_, source, &Entry::source);
  if (found != entries_.end()) {
    found->last_use = uses_;
    return *found;
  }
  const auto kept =
      std::ranges::count_if(entries_, [](const Entry& e) { return e.bytes != nullptr; });
  const int64_t oldest = uses_ - std::max<int64_t>(kMinUses, kUsesACopy * kept);
  std::erase_if(entries_, [&](const Entry& e) { return e.last_use < oldest; });
  return entries_.emplace_back(Entry{source, 0, nullptr, uses_});
}

uint64_t RunContext::version_of(const void* array) const {
  const auto argument = std::ranges::find(arguments, array);
  if (argument != arguments.end())
    return versions[static_cast<size_t>(argument - arguments.begin())];
  const auto constant = std::ranges::find(all_constants, array);
  return constant == all_constants.end() ? 0 : kConstantVersion;
}

KeptCopies::Memory KeptCopies::take(const void* source, uint64_t version, int64_t size) {
  if (version == 0) return {};
  const MutexLock lock(mutex_);
  Entry& entry = entry_of(source);
  if (entry.version == version && entry.bytes != nullptr) return {entry.bytes, true};
  const bool again = entry.version == version || version == kConstantVersion;
  entry.version = version;
  entry.bytes = nullptr;
  if (!again) return {};
  return {std::make_shared<Tensor>(DType::u8, Shape{size}), false};
}

void KeptCopies::keep(const void* source, uint64_t version, std::shared_ptr<Tensor> bytes) {
  const MutexLock lock(mutex_);
  Entry& entry = entry_of(source);
  entry.version = version;
  entry.bytes = std::move(bytes);
}

}  // namespace systole::cpu
