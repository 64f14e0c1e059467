#include "systole/runtime/host_launch.h"

#include "systole/base/error.h"

namespace systole::runtime {
namespace {

// The buffer of an argument that the program may overwrite; null for any other.
HostBuffer* donated_buffer(const Argument& argument) {
  return argument.donate ? dynamic_cast<HostBuffer*>(argument.buffer) : nullptr;
}

void check_donations(const HostProgram& program, std::span<const Argument> arguments) {
  for (const auto& [parameter, result] : program.aliases) {
    const auto p = static_cast<size_t>(parameter);
    if (donated_buffer(arguments[p]) == nullptr || program.parameters[p].byte_size() == 0) continue;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i == p || arguments[i].buffer != arguments[p].buffer) continue;
      throw invalid_argument(
          "{}: argument {}, got the memory of argument {}, which the program updates",
          program.platform, i, p);
    }
  }
}

// Gives the results and the donated arguments the error of a failed launch.
Event fail(const HostProgram& program, Event failure, std::span<const Argument> arguments,
           std::span<const Result> results) {
  for (const auto& [parameter, result] : program.aliases) {
    HostBuffer* const buffer = donated_buffer(arguments[parameter]);
    if (buffer != nullptr) buffer->fail(failure);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].device == nullptr) continue;
    auto buffer = std::make_unique<HostBuffer>(Tensor(program.results[k]), program.placements[k]);
    buffer->fail(failure);
    *results[k].device = std::move(buffer);
  }
  return failure;
}

}  // namespace

Event launch_on_host(const HostProgram& program, std::span<const Argument> arguments,
                     std::span<const Result> results,
                     const std::function<std::vector<Tensor>(std::span<const Tensor>)>& compute) {
  if (arguments.size() != program.parameters.size() || results.size() != program.results.size()) {
    throw invalid_argument("{}: arguments and results, got {} and {}, expected {} and {}",
                           program.platform, arguments.size(), results.size(),
                           program.parameters.size(), program.results.size());
  }
  Event failure;
  std::vector<Tensor> inputs;
  for (const Argument& argument : arguments) {
    inputs.push_back(*host_elements(program.platform, argument, failure));
  }
  check_donations(program, arguments);
  std::vector<Tensor> outputs;
  if (failure.error() == nullptr) {
    try {
      outputs = compute(inputs);
    } catch (const Error& error) {
      failure = Event::failed(error);
    }
  }
  if (failure.error() != nullptr) return fail(program, std::move(failure), arguments, results);
  // An output may be one of the inputs itself, which its owner may change later.
  for (Tensor& output : outputs) output = output.clone();
  for (const auto& [parameter, result] : program.aliases) {
    HostBuffer* const buffer = donated_buffer(arguments[parameter]);
    const Tensor& output = outputs[result];
    if (buffer != nullptr && buffer->type() == output.type()) buffer->set_value(output.clone());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i].device != nullptr) {
      *results[i].device =
          std::make_unique<HostBuffer>(std::move(outputs[i]), program.placements[i]);
    } else if (results[i].host != nullptr) {
      copy_elements(outputs[i], *results[i].host);
    }
  }
  return {};
}

}  // namespace systole::runtime
