#include "systole/session/variable_snapshot.h"

#include "systole/runtime/host_buffer.h"

namespace systole {

Tensor host_view(const runtime::Buffer& buffer) {
  const auto* const host = dynamic_cast<const runtime::HostBuffer*>(&buffer);
  return host != nullptr ? host->value() : buffer.to_host();
}

}  // namespace systole
