// A client for tests that behaves as a remote, asynchronous device: launches and transfers end
// later and out of order, the host cannot read its memory, and any call can be made to fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "systole/runtime/client.h"

namespace systole::runtime::testing {

// Where a FakeClient can fail. `launch` fails in the call, `run` after it.
enum class FakeCall : uint8_t { compile, launch, run, upload, upload_later, download };

struct FakeClientOptions {
  // Work ends up to this much later than it could, at random.
  int64_t max_delay_us = 300;
  uint64_t seed = 1;
  // Asked at every call, with the number of calls of its kind before it; null: nothing fails.
  // Called from several threads at once.
  std::function<std::optional<Error>(FakeCall call, int64_t count)> fail;
};

// Computes with `inner`, which it borrows and whose devices it has. Thread-safe.
class FakeClient : public Client {
 public:
  FakeClient(Client& inner, const FakeClientOptions& options = {});
  ~FakeClient() override;  // waits for all work

  // Nothing ends between hold() and release(): what is enqueued stays pending.
  void hold();
  void release();

  std::string_view platform() const override { return "fake"; }
  std::span<const Device> devices() const override { return devices_; }
  std::unique_ptr<Executable> compile(const hlo::Module& module,
                                      const CompileOptions& options) override;
  std::unique_ptr<Buffer> buffer_from_host(Tensor tensor, const BufferOptions& options) override;
  MemoryStats memory_stats(int device_id) const override;

 private:
  struct Shared;
  Client& inner_;
  std::vector<Device> devices_;
  std::shared_ptr<Shared> shared_;
};

// Registers the backend "fake", a FakeClient over the backend that its option "inner" names.
void register_fake_backend();

}  // namespace systole::runtime::testing
