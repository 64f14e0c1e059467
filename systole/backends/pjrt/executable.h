// A program that a plugin compiled.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/backends/pjrt/device_array.h"
#include "systole/backends/pjrt/interface.h"
#include "systole/runtime/client.h"

namespace systole::pjrt {

class PjrtExecutable final : public runtime::Executable {
 public:
  // Takes the plugin's program over.
  PjrtExecutable(std::shared_ptr<const Session> session, PJRT_LoadedExecutable* loaded,
                 Interface interface);
  ~PjrtExecutable() override;
  PjrtExecutable(const PjrtExecutable&) = delete;
  PjrtExecutable& operator=(const PjrtExecutable&) = delete;

  std::span<const TensorType> parameter_types() const override { return interface_.parameters; }
  std::span<const TensorType> result_types() const override { return interface_.results; }
  const runtime::ExecutableStats& stats() const override { return stats_; }
  runtime::Event execute(std::span<const runtime::Argument> arguments,
                         std::span<const runtime::Result> results,
                         const runtime::ExecuteOptions& options) override;
  std::string optimized_program() const override;
  // The plugin's bytes (PJRT_Executable_Serialize) with the interface. Errors: UNIMPLEMENTED for a
  // plugin that does not write programs.
  std::string serialize() const override;

  // Fills stats() with what the plugin tells of the program; bytes of arguments and results are
  // those of the interface if it does not.
  void read_stats(double compile_seconds);

 private:
  struct Launch;
  void bind_arguments(Launch& launch, std::span<const runtime::Argument> arguments) const;
  void bind_buffer(Launch& launch, const PjrtBuffer& buffer, size_t p, bool donate) const;
  std::vector<size_t> parts_of(const DeviceArray& array) const;
  void check_donations(std::span<const runtime::Argument> arguments) const;
  runtime::Event call_plugin(Launch& launch) const;
  void give_results(Launch& launch, std::span<const runtime::Argument> arguments,
                    std::span<const runtime::Result> results) const;
  void fail(const runtime::Event& failure, std::span<const runtime::Argument> arguments,
            std::span<const runtime::Result> results) const;

  std::shared_ptr<const Session> session_;
  PJRT_LoadedExecutable* loaded_;
  Interface interface_;
  runtime::ExecutableStats stats_;
};

}  // namespace systole::pjrt
