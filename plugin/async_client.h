// A client whose launches return before the programs end.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "plugin/launch_queue.h"
#include "systole/runtime/client.h"

namespace systole::plugin {

// The promise of a buffer's elements, which the caller of the plugin delivers later with give() or
// fail(). Programs that read the buffer wait for it; other programs do not wait behind them. If
// neither is called before this object is destroyed, the buffer's error is CANCELLED. Thread-safe;
// calls after the first have no effect.
class PendingArray {
 public:
  virtual ~PendingArray() = default;
  // If the elements cannot be stored, for lack of memory, the buffer gets the error; the call does
  // not throw.
  virtual void give(Tensor elements) = 0;
  virtual void fail(const Error& error) = 0;
};

// Runs the programs of `inner`, a client whose calls return when their work has ended, in the order
// of the calls, on one thread. Two kinds of programs run in the call if no launch is under way:
// those that took less time than a thread needs to take over, and those that call functions of the
// host, which may need a lock that a waiting caller holds (Python's). The errors of such functions
// are thrown by execute(), too: nobody may wait for the results. Launches by functions of the host,
// on the thread of the programs, run in the call, too. Thread-safe.
class AsyncClient final : public runtime::Client {
 public:
  // `inner` lives longer.
  explicit AsyncClient(runtime::Client& inner) : inner_(inner) {}

  std::string_view platform() const override { return inner_.platform(); }
  std::span<const runtime::Device> devices() const override { return inner_.devices(); }
  int process_index() const override { return inner_.process_index(); }
  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const runtime::CompileOptions& options) override;
  std::unique_ptr<runtime::Buffer> buffer_from_host(Tensor tensor,
                                                    const runtime::BufferOptions& options) override;
  // Makes a buffer whose elements come later.
  std::pair<std::unique_ptr<runtime::Buffer>, std::shared_ptr<PendingArray>> pending_buffer(
      const TensorType& type, int device_id);
  runtime::MemoryStats memory_stats(int device_id) const override {
    return inner_.memory_stats(device_id);
  }

 private:
  runtime::Client& inner_;
  std::shared_ptr<LaunchQueue> queue_ = std::make_shared<LaunchQueue>();
};

}  // namespace systole::plugin
