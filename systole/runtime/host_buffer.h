// Device memory of a backend whose device is this machine: a tensor.
#pragma once

#include <utility>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Owns its elements: the tensor that it is made of is shared with nobody. Thread-safety as Buffer.
class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(Tensor value) : value_(std::move(value)), type_(value_.type()) {}
  const TensorType& type() const override { return type_; }
  int device_id() const override { return 0; }
  Tensor to_host() const override { return value_.clone(); }

  void* data() { return value_.raw(); }
  const Tensor& value() const { return value_; }
  // Of the same type.
  void set_value(Tensor value) { value_ = std::move(value); }

 private:
  Tensor value_;
  TensorType type_;
};

}  // namespace systole::runtime
