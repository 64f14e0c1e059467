#include "systole/runtime/host_buffer.h"

#include <cstring>

namespace systole::runtime {
namespace {

constexpr uintptr_t kAlignment = 64;

Tensor owned(Tensor value) {
  // (A part of another tensor may lie anywhere.)
  const bool whole = value.unique() && !value.is_lent() &&
                     reinterpret_cast<uintptr_t>(value.raw()) % kAlignment == 0;
  return whole ? std::move(value) : value.clone();
}

}  // namespace

void HostMemory::add(int device, int64_t bytes) {
  Count& count = counts_[device];
  const int64_t now = count.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = count.peak.load(std::memory_order_relaxed);
  while (now > peak && !count.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

MemoryStats HostMemory::stats(int device) const {
  const Count& count = counts_[device];
  return {.bytes_in_use = count.bytes.load(std::memory_order_relaxed),
          .peak_bytes_in_use = count.peak.load(std::memory_order_relaxed)};
}

void HostPlacement::charge(int64_t bytes, int sign) const {
  const int64_t parts = stacked ? static_cast<int64_t>(devices.size()) : 1;
  for (const int device : devices) memory->add(device, sign * (bytes / parts));
}

HostBuffer::HostBuffer(Tensor value, std::shared_ptr<const HostPlacement> placement)
    : value_(owned(std::move(value))), type_(value_.type()), placement_(std::move(placement)) {
  placement_->charge(value_.byte_size(), 1);
}

uint64_t HostBuffer::new_version() {
  static std::atomic<uint64_t> last = 1;  // (1 is for backends: that of constants)
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

HostBuffer::~HostBuffer() { placement_->charge(type_.byte_size(), -1); }

Event HostBuffer::copy_to_host(Tensor& target) const {
  if (ready_.error() != nullptr) return ready_;
  copy_elements(value_, target);
  return {};
}

void copy_elements(const Tensor& value, Tensor& target) {
  const bool fits =
      target.unique() && target.dtype() == value.dtype() && target.shape() == value.shape();
  if (!fits) {
    target = value.clone();
  } else if (value.byte_size() > 0) {
    std::memcpy(target.raw(), value.raw(), static_cast<size_t>(value.byte_size()));
  }
}

const Tensor* host_elements(std::string_view platform, const Argument& argument, Event& failure) {
  if (argument.buffer == nullptr) {
    if (argument.host != nullptr) return argument.host;
    throw invalid_argument("{}: argument, got neither a buffer nor a host tensor", platform);
  }
  const Event ready = argument.buffer->ready();
  if (!ready.ready() || ready.error() != nullptr) {
    try {
      ready.wait();
    } catch (const Error&) {
      failure = ready;
    }
  }
  const Tensor* const value = argument.buffer->host_value();
  if (value == nullptr) {
    throw invalid_argument("{}: argument, got another backend's buffer, expected one of its own",
                           platform);
  }
  return value;
}

}  // namespace systole::runtime
