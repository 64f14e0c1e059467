// Launches of programs that run on the host, from tensors to tensors.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"
#include "systole/runtime/host_buffer.h"

namespace systole::runtime {

// What a launch must know of its program. Borrowed for the call.
struct HostProgram {
  std::string_view platform;  // starts the messages
  std::span<const TensorType> parameters;
  std::span<const TensorType> results;
  std::span<const std::shared_ptr<const HostPlacement>> placements;  // by result
  std::span<const hlo::Module::Alias> aliases;
};

// Does what Executable::execute() promises: reads the arguments, calls `compute` with their
// elements, and writes its outputs to the results and to the donated arguments. An Error that
// `compute` throws becomes the error of the event.
Event launch_on_host(const HostProgram& program, std::span<const Argument> arguments,
                     std::span<const Result> results,
                     const std::function<std::vector<Tensor>(std::span<const Tensor>)>& compute);

}  // namespace systole::runtime
