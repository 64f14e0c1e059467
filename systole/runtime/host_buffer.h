// Device memory of a backend whose devices are this machine: tensors, and how many bytes they take.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Counts the bytes of each device's buffers. Thread-safe.
class HostMemory {
 public:
  explicit HostMemory(size_t num_devices) : counts_(num_devices) {}
  void add(int device, int64_t bytes);  // negative: they are free again
  MemoryStats stats(int device) const;  // without a limit

 private:
  struct Count {
    std::atomic<int64_t> bytes = 0;
    std::atomic<int64_t> peak = 0;
  };
  std::vector<Count> counts_;
};

// The devices that a buffer lives on. Shared by the buffers of one program; outlives their client.
struct HostPlacement {
  std::shared_ptr<HostMemory> memory;
  std::vector<int> devices;  // at least one
  bool stacked = false;      // each has an equal part of the array; false: the whole array

  void charge(int64_t bytes, int sign) const;
};

// A tensor as a buffer. Thread-safety as Buffer.
class HostBuffer final : public Buffer {
 public:
  // Takes the tensor's memory over when nobody else holds it, else copies the elements.
  HostBuffer(Tensor value, std::shared_ptr<const HostPlacement> placement);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  const TensorType& type() const override { return type_; }
  int device_id() const override { return placement_->devices.front(); }
  Event ready() const override { return ready_; }
  Event copy_to_host(Tensor& target) const override;
  const Tensor* host_value() const override { return &value_; }

  void* data() { return value_.raw(); }
  // Changes when the elements do, and is not that of another buffer, now or before: what was
  // computed from the elements is right as long as this number is the same. Never 0.
  uint64_t version() const { return version_; }
  // Says that the elements are about to be written in place.
  void change() { version_ = new_version(); }
  // Returns a number that no buffer has had as its version.
  static uint64_t new_version();
  // `value` has the type of the one before.
  void set_value(Tensor value) {
    change();
    value_ = std::move(value);
  }
  // Marks the elements as lost: a launch that wrote them in place has failed.
  void fail(Event failure) { ready_ = std::move(failure); }

 private:
  Tensor value_;
  TensorType type_;
  std::shared_ptr<const HostPlacement> placement_;
  uint64_t version_ = new_version();
  Event ready_;
};

// Copies elements as Buffer::copy_to_host() and Result::host promise.
void copy_elements(const Tensor& value, Tensor& target);

// The elements of an argument for a program that runs on the host, waiting until they are there.
// Errors: INVALID_ARGUMENT for a buffer whose memory the host cannot read, and where neither buffer
// nor host tensor is set; the buffer's error, which is returned in `failure` instead of thrown.
const Tensor* host_elements(std::string_view platform, const Argument& argument, Event& failure);

}  // namespace systole::runtime
