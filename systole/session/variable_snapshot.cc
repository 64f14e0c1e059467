#include "systole/session/variable_snapshot.h"

#include "systole/runtime/host_buffer.h"

namespace systole {

Tensor host_view(const runtime::Buffer& buffer) {
  const auto* const host = dynamic_cast<const runtime::HostBuffer*>(&buffer);
  return host != nullptr ? host->value() : buffer.to_host();
}

std::vector<std::shared_ptr<runtime::Buffer>> buffers_of(runtime::Client& client,
                                                         std::vector<Tensor> values) {
  const auto probe = client.buffer_from_host(Tensor(0));
  const bool on_host = dynamic_cast<const runtime::HostBuffer*>(probe.get()) != nullptr;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  buffers.reserve(values.size());
  for (Tensor& value : values) {
    // (A part of another tensor may lie anywhere.)
    constexpr uintptr_t kAlignment = 64;
    const bool whole = value.unique() && !value.is_lent() &&
                       reinterpret_cast<uintptr_t>(value.raw()) % kAlignment == 0;
    if (on_host && whole) {
      buffers.push_back(std::make_shared<runtime::HostBuffer>(std::move(value)));
    } else {
      buffers.push_back(client.buffer_from_host(value));
    }
  }
  return buffers;
}

}  // namespace systole
