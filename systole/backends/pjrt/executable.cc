#include "systole/backends/pjrt/executable.h"

#include <algorithm>
#include <utility>

#include "systole/base/error.h"

namespace systole::pjrt {
namespace {

using runtime::Argument;
using runtime::Event;
using runtime::Result;

constexpr std::string_view kExecute = "PJRT_LoadedExecutable_Execute";

PjrtBuffer* buffer_of(const Argument& argument) {
  return dynamic_cast<PjrtBuffer*>(argument.buffer);
}

}  // namespace

// One launch, with the memory of its lists.
struct PjrtExecutable::Launch {
  const Session* session;
  std::vector<std::shared_ptr<const DeviceArray>> arrays;  // by parameter
  std::vector<int64_t> kept;                       // aliased parameters that keep their value
  std::vector<bool> donated;                       // by parameter
  std::vector<std::vector<PJRT_Buffer*>> inputs;   // by device and parameter
  std::vector<std::vector<PJRT_Buffer*>> outputs;  // by device and result; null: taken
  Event failed_argument;                           // of a buffer that a launch lost
  Event done;

  explicit Launch(const Session& of) : session(&of) {}
  // Passes a buffer to each device.
  void take(size_t parameter, const std::vector<PJRT_Buffer*>& buffers) {
    for (size_t d = 0; d < inputs.size(); ++d) inputs[d][parameter] = buffers[d];
  }
  ~Launch() {
    for (const auto& of_device : outputs) {
      for (PJRT_Buffer* const buffer : of_device) {
        if (buffer != nullptr) session->destroy_buffer(buffer);
      }
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
};

PjrtExecutable::PjrtExecutable(std::shared_ptr<const Session> session,
                               PJRT_LoadedExecutable* loaded, Interface interface)
    : session_(std::move(session)), loaded_(loaded), interface_(std::move(interface)) {}

PjrtExecutable::~PjrtExecutable() {
  auto args = pjrt_abi::make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = loaded_;
  session_->plugin->call_quietly(&PJRT_Api::PJRT_LoadedExecutable_Destroy,
                                 "PJRT_LoadedExecutable_Destroy", args);
}

void PjrtExecutable::check_donations(std::span<const Argument> arguments) const {
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (!arguments[p].donate || arguments[p].buffer == nullptr || !interface_.aliased[p]) continue;
    if (interface_.parameters[p].byte_size() == 0) continue;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i == p || arguments[i].buffer != arguments[p].buffer) continue;
      throw invalid_argument(
          "{}: argument {}, got the memory of argument {}, which the program updates",
          session_->platform, i, p);
    }
  }
}

// The index of the buffer of `array` for each of the program's devices; fewer if some have none.
std::vector<size_t> PjrtExecutable::parts_of(const DeviceArray& array) const {
  std::vector<size_t> parts;
  for (const int id : *interface_.device_ids) {
    const auto found = std::ranges::find(array.device_ids(), id);
    if (found == array.device_ids().end()) break;
    parts.push_back(static_cast<size_t>(found - array.device_ids().begin()));
  }
  return parts;
}

// Binds a buffer of this client. One on other devices is copied through the host.
void PjrtExecutable::bind_buffer(Launch& launch, const PjrtBuffer& buffer, size_t p,
                                 bool donate) const {
  auto array = buffer.array();
  if (array == nullptr) {
    launch.failed_argument = buffer.ready();
    launch.arrays.push_back(nullptr);
    return;
  }
  const bool stacked = interface_.stacked_parameters[p];
  const size_t devices = interface_.device_ids->size();
  const bool in_place =
      array->stacked() == stacked && array->device_ids() == *interface_.device_ids;
  if (in_place) {
    launch.donated[p] = donate && buffer.is_only_owner(array);
    launch.take(p, array->buffers());
  } else if (const auto parts = parts_of(*array);
             !stacked && !array->stacked() && parts.size() == devices) {
    for (size_t d = 0; d < devices; ++d) launch.inputs[d][p] = array->buffers()[parts[d]];
  } else {
    array = upload(session_, buffer.to_host(), interface_.device_ids, stacked);
    launch.donated[p] = interface_.aliased[p];  // nobody else has the copy
    launch.take(p, array->buffers());
  }
  launch.arrays.push_back(std::move(array));
}

void PjrtExecutable::bind_arguments(Launch& launch, std::span<const Argument> arguments) const {
  const size_t devices = interface_.device_ids->size();
  launch.inputs.assign(devices, std::vector<PJRT_Buffer*>(arguments.size()));
  launch.outputs.assign(devices, std::vector<PJRT_Buffer*>(interface_.results.size()));
  launch.donated.assign(arguments.size(), false);
  launch.arrays.reserve(arguments.size());
  for (size_t p = 0; p < arguments.size(); ++p) {
    const Argument& argument = arguments[p];
    if (argument.buffer == nullptr && argument.host == nullptr) {
      throw invalid_argument("{}: argument, got neither a buffer nor a host tensor",
                             session_->platform);
    }
    if (argument.buffer == nullptr) {
      launch.arrays.push_back(upload(session_, *argument.host, interface_.device_ids,
                                     interface_.stacked_parameters[p]));
      launch.donated[p] = interface_.aliased[p];  // nobody else has it
      launch.take(p, launch.arrays.back()->buffers());
      continue;
    }
    const PjrtBuffer* const buffer = buffer_of(argument);
    if (buffer == nullptr || !buffer->belongs_to(*session_)) {
      throw invalid_argument("{}: argument, got another backend's buffer, expected one of its own",
                             session_->platform);
    }
    bind_buffer(launch, *buffer, p, argument.donate && interface_.aliased[p]);
  }
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (interface_.aliased[p] && !launch.donated[p]) launch.kept.push_back(static_cast<int64_t>(p));
  }
}

Event PjrtExecutable::call_plugin(Launch& launch) const {
  const size_t devices = interface_.device_ids->size();
  std::vector<PJRT_Buffer* const*> inputs;
  std::vector<PJRT_Buffer**> outputs;
  for (size_t d = 0; d < devices; ++d) {
    inputs.push_back(launch.inputs[d].data());
    outputs.push_back(launch.outputs[d].data());
  }
  std::vector<PJRT_Event*> events(devices, nullptr);
  auto options = pjrt_abi::make<PJRT_ExecuteOptions>();
  options.non_donatable_input_indices = launch.kept.data();
  options.num_non_donatable_input_indices = launch.kept.size();
  auto args = pjrt_abi::make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded_;
  args.options = &options;
  args.argument_lists = inputs.data();
  args.num_devices = devices;
  args.num_args = launch.arrays.size();
  args.output_lists = outputs.data();
  args.device_complete_events = events.data();
  session_->plugin->call(&PJRT_Api::PJRT_LoadedExecutable_Execute, kExecute, args);
  if (devices == 1) return session_->plugin->take_event(events[0], kExecute);
  std::vector<Event> done;
  for (PJRT_Event* const event : events) {
    done.push_back(session_->plugin->take_event(event, kExecute));
  }
  return runtime::all_of(done);
}

void PjrtExecutable::give_results(Launch& launch, std::span<const Argument> arguments,
                                  std::span<const Result> results) const {
  std::vector<Event> copies;
  for (size_t k = 0; k < results.size(); ++k) {
    std::vector<PJRT_Buffer*> buffers;
    for (auto& outputs : launch.outputs) buffers.push_back(std::exchange(outputs[k], nullptr));
    const auto array = std::make_shared<const DeviceArray>(
        session_, interface_.results[k], interface_.stacked_results[k], interface_.device_ids,
        std::move(buffers), launch.done);
    const int parameter = interface_.aliased_parameter[k];
    if (parameter >= 0) {
      const Argument& argument = arguments[parameter];
      if (argument.donate && argument.buffer != nullptr) buffer_of(argument)->replace(array);
    }
    if (results[k].device != nullptr) {
      *results[k].device = std::make_unique<PjrtBuffer>(array);
    }
    if (results[k].host != nullptr) {
      copies.push_back(DeviceArray::copy_to_host(array, *results[k].host));
    }
  }
  if (copies.empty()) return;
  copies.push_back(launch.done);
  launch.done = runtime::all_of(copies);
}

void PjrtExecutable::fail(const Event& failure, std::span<const Argument> arguments,
                          std::span<const Result> results) const {
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (arguments[p].donate && interface_.aliased[p] && arguments[p].buffer != nullptr) {
      buffer_of(arguments[p])->fail(*session_, failure);
    }
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].device == nullptr) continue;
    *results[k].device = std::make_unique<PjrtBuffer>(*session_, interface_.results[k],
                                                      interface_.device_ids->front(), failure);
  }
}

Event PjrtExecutable::execute(std::span<const Argument> arguments, std::span<const Result> results,
                              const runtime::ExecuteOptions&) {
  if (arguments.size() != interface_.parameters.size() ||
      results.size() != interface_.results.size()) {
    throw invalid_argument("{}: arguments and results, got {} and {}, expected {} and {}",
                           session_->platform, arguments.size(), results.size(),
                           interface_.parameters.size(), interface_.results.size());
  }
  Launch launch(*session_);
  bind_arguments(launch, arguments);
  check_donations(arguments);
  if (launch.failed_argument.error() != nullptr) {
    fail(launch.failed_argument, arguments, results);
    return launch.failed_argument;
  }
  try {
    launch.done = call_plugin(launch);
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument || error.code() == Code::unimplemented) throw;
    Event failure = Event::failed(error);
    fail(failure, arguments, results);
    return failure;
  }
  give_results(launch, arguments, results);
  return launch.done;
}

}  // namespace systole::pjrt
