// A client whose devices are this machine: one core, or the cores of a virtual TPU.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"
#include "systole/runtime/host_buffer.h"

namespace systole::runtime {

// The largest number of replicas and partitions: the cores of the largest virtual TPU.
inline constexpr int kMaxReplicas = 2048;
// The largest CompileOptions::num_threads: 64, or four for each CPU if those are more.
int max_threads();

// The options of such clients: "cores", "core_memory", "core_kind".
std::span<const OptionDef> host_client_options();

// Everything of a Client but the compiler. Thread-safe.
class HostClient : public Client {
 public:
  std::string_view platform() const override { return platform_; }
  std::span<const Device> devices() const override { return devices_; }
  std::unique_ptr<Buffer> buffer_from_host(Tensor tensor, const BufferOptions& options) override;
  MemoryStats memory_stats(int device_id) const override;

 protected:
  // `kind` and `memory_bytes` describe the machine; `resolved` holds host_client_options(). Errors:
  // INVALID_ARGUMENT for numbers out of range.
  HostClient(std::string platform, std::string_view kind, int64_t memory_bytes,
             const ClientOptions& resolved);

  // Errors: INVALID_ARGUMENT for replicas, partitions and threads out of range, and devices that
  // are not there.
  void check_options(const hlo::Module& module, const CompileOptions& options) const;
  // Errors: UNIMPLEMENTED, with the target's name and line, for a custom call of a function that
  // main reaches if it is no placement (hlo/ir/placement.h) and `known` is false for it.
  void check_custom_calls(const hlo::Module& module,
                          const std::function<bool(const hlo::Instruction&)>& known) const;
  // Bytes that a replica may use under `options`; 0: no limit below the machine's memory.
  int64_t memory_limit(const CompileOptions& options) const;
  // By result of the program, whose results are of `types`: the devices of its buffer.
  std::vector<std::shared_ptr<const HostPlacement>> result_placements(
      const hlo::Module& module, const CompileOptions& options,
      std::span<const TensorType> types) const;

 private:
  void check_device(int id) const;
  // Errors: RESOURCE_EXHAUSTED if a buffer does not fit beside those of its device.
  void check_space(const TensorType& type, const BufferOptions& options) const;
  std::vector<int> assigned_devices(const CompileOptions& options) const;

  std::string platform_;
  int64_t core_memory_;
  std::vector<Device> devices_;
  std::shared_ptr<HostMemory> memory_;
  std::vector<std::shared_ptr<const HostPlacement>> alone_;  // by device
};

}  // namespace systole::runtime
