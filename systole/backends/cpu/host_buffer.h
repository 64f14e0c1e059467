// Device memory of the CPU: a tensor.
#pragma once

#include "systole/runtime/client.h"

namespace systole::cpu {

class HostBuffer : public runtime::Buffer {
 public:
  explicit HostBuffer(Tensor value) : value_(std::move(value)), type_(value_.type()) {}
  const TensorType& type() const override { return type_; }
  int device_id() const override { return 0; }
  Tensor to_host() const override { return value_.clone(); }

  void* data() { return value_.raw(); }

 private:
  Tensor value_;
  TensorType type_;
};

}  // namespace systole::cpu
