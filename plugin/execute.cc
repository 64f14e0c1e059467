#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstring>
#include <list>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "systole/base/mutex.h"

namespace systole::plugin {
namespace {

using runtime::Argument;
using runtime::Result;

constexpr std::string_view kExecute = "PJRT_LoadedExecutable_Execute";

// A call of at most so many devices, parameters or results allocates no lists.
constexpr size_t kMaxInline = 4;

// The arguments of one parameter, by device.
class Column {
 public:
  Column(const PJRT_LoadedExecutable_Execute_Args& args, size_t parameter) {
    buffers_.reserve(args.num_devices);
    for (size_t d = 0; d < args.num_devices; ++d) {
      buffers_.push_back(args.argument_lists[d][parameter]);
    }
    array_ = array_of(*buffers_[0]);
  }

  std::span<PJRT_Buffer* const> buffers() const { return buffers_; }
  // The array of the first buffer.
  const std::shared_ptr<runtime::Buffer>& array() const { return array_; }

  // Whether the buffers are the slices of one array, in order.
  bool is_stacked() const {
    for (size_t r = 0; r < buffers_.size(); ++r) {
      if (buffers_[r]->slice != static_cast<int>(r)) return false;
      if (r > 0 && array_of(*buffers_[r]) != array_) return false;
    }
    return true;
  }

  // Returns whether the buffers are slices of one array and differ in value. Waits for the array.
  bool has_unlike_slices() const {
    if (!is_stacked()) return false;
    const Tensor first = elements_of(*buffers_[0]);
    const auto size = static_cast<size_t>(first.byte_size());
    return size > 0 && std::ranges::any_of(buffers_, [&](const PJRT_Buffer* buffer) {
             return std::memcmp(elements_of(*buffer).raw(), first.raw(), size) != 0;
           });
  }

  // Returns whether only these buffers hold their array.
  bool may_donate() const {
    int64_t holders = 1;  // array_
    for (const PJRT_Buffer* buffer : buffers_) {
      if (buffer->external_references > 0) return false;
      const systole::MutexLock lock(buffer->mutex);
      if (buffer->array == array_) ++holders;
    }
    return array_.use_count() == holders;
  }

  // Copies the buffers' elements to an array with the devices as its first axis.
  Tensor stack(const TensorType& type) const {
    Tensor all(type);
    auto* place = static_cast<std::byte*>(all.raw());
    for (const PJRT_Buffer* buffer : buffers_) {
      const Tensor elements = elements_of(*buffer);
      const auto size = static_cast<size_t>(elements.byte_size());
      if (size > 0) std::memcpy(place, elements.raw(), size);
      place += size;
    }
    return all;
  }

 private:
  absl::InlinedVector<PJRT_Buffer*, kMaxInline> buffers_;
  std::shared_ptr<runtime::Buffer> array_;
};

// Returns the caller's options as a struct of this plugin's version. Fields that an older version
// lacks are zero. Errors: UNIMPLEMENTED for send and receive callbacks.
PJRT_ExecuteOptions read_options(const PJRT_ExecuteOptions* given) {
  PJRT_ExecuteOptions options{};
  if (given == nullptr) return options;
  check_struct("PJRT_ExecuteOptions", given, kSmallestStruct<PJRT_ExecuteOptions>);
  std::memcpy(&options, given, std::min(given->struct_size, sizeof(options)));
  if (options.num_send_ops > 0 || options.num_recv_ops > 0) {
    throw unimplemented("{}: send and receive callbacks, which the systole plugin does not have",
                        kExecute);
  }
  return options;
}

// Clients have no buffers for tokens before a program has returned one: they pass an empty array.
bool fits_parameter(const TensorType& type, const TensorType& parameter) {
  return type == parameter ||
         (parameter.dtype == DType::token && type == TensorType{DType::pred, Shape({0})});
}

// Returns the device that a call runs on, of those of the program.
PJRT_Device* device_of(const PJRT_LoadedExecutable_Execute_Args& args, size_t index) {
  return args.execute_device != nullptr ? args.execute_device : args.executable->devices[index];
}

void check_argument(const PJRT_LoadedExecutable_Execute_Args& args, size_t device,
                    size_t parameter) {
  const Program& program = *args.executable->program;
  const PJRT_Buffer* const buffer = args.argument_lists[device][parameter];
  if (buffer == nullptr) {
    throw invalid_argument("{}: argument {} of '{}', got null, expected a buffer", kExecute,
                           parameter, program.name);
  }
  if (!fits_parameter(buffer->type, program.parameters[parameter])) {
    throw invalid_argument("{}: argument {} of '{}', got {}, expected {}", kExecute, parameter,
                           program.name, buffer->type, program.parameters[parameter]);
  }
  const bool any_device = is_portable(*args.executable) && args.execute_device == nullptr;
  const PJRT_Device* const expected = device_of(args, device);
  if (buffer->device == expected || (any_device && buffer->client == args.executable->client)) {
    return;
  }
  throw invalid_argument("{}: argument {} of '{}', got a buffer of device {}{}, expected device {}",
                         kExecute, parameter, program.name, buffer->device->description.device->id,
                         buffer->client == args.executable->client ? "" : " of another client",
                         expected->description.device->id);
}

void check_call(const PJRT_LoadedExecutable_Execute_Args& args) {
  const Program& program = *args.executable->program;
  if (args.num_args != program.parameters.size()) {
    throw invalid_argument("{}: number of arguments of '{}', got {}, expected {}", kExecute,
                           program.name, args.num_args, program.parameters.size());
  }
  const size_t devices = args.executable->devices.size();
  if (args.num_devices != devices) {
    throw invalid_argument(
        "{}: num_devices of '{}', got {}, expected {}: all devices run in one call", kExecute,
        program.name, args.num_devices, devices);
  }
  for (size_t d = 0; d < args.num_devices; ++d) {
    for (size_t p = 0; p < args.num_args; ++p) check_argument(args, d, p);
  }
}

std::shared_ptr<runtime::Executable> executable_of(const PJRT_LoadedExecutable& loaded) {
  const systole::MutexLock lock(loaded.mutex);
  if (loaded.executable != nullptr) return loaded.executable;
  throw failed_precondition("{}: '{}' was deleted", kExecute, loaded.program->name);
}

// The same program for arguments that differ between devices although their shardings say that they
// do not. It is compiled when it is first called.
std::shared_ptr<runtime::Executable> executable_for_unlike_values(PJRT_LoadedExecutable& loaded) {
  {
    const systole::MutexLock lock(loaded.mutex);
    if (loaded.for_unlike_values != nullptr) return loaded.for_unlike_values;
  }
  std::shared_ptr<runtime::Executable> compiled = compile_for_unlike_values(loaded);
  const systole::MutexLock lock(loaded.mutex);
  if (loaded.executable != nullptr) loaded.for_unlike_values = compiled;
  return compiled;
}

// One call of a program: its arguments, and where its results go.
class Call {
 public:
  explicit Call(const PJRT_LoadedExecutable_Execute_Args& args)
      : args_(args),
        program_(*args.executable->program),
        executable_(executable_of(*args.executable)),
        options_(read_options(args.options)) {
    check_call(args_);
    columns_.reserve(args_.num_args);
    for (size_t p = 0; p < args_.num_args; ++p) columns_.emplace_back(args_, p);
    if (values_differ()) executable_ = executable_for_unlike_values(*args.executable);
    bind_arguments();
    arrays_.resize(program_.results.size());
    new_buffers_.resize(program_.results.size());
    for (size_t k = 0; k < new_buffers_.size(); ++k) {
      const int parameter = program_.aliased_parameter[k];
      const bool in_place = parameter >= 0 && arguments_[parameter].donate;
      if (in_place) arrays_[k] = columns_[parameter].array();
      results_.push_back({.device = in_place ? nullptr : &new_buffers_[k]});
    }
  }

  void run() {
    done_ = executable_->execute(arguments_, results_);
    for (size_t k = 0; k < arrays_.size(); ++k) {
      if (arrays_[k] == nullptr) arrays_[k] = std::move(new_buffers_[k]);
    }
    delete_donors();
  }

  // Gives all results and events, or none on an error.
  void give_results() const {
    const std::span<const TensorType> types = executable_->result_types();
    // By device, then by result.
    absl::InlinedVector<std::unique_ptr<PJRT_Buffer>, kMaxInline> buffers;
    absl::InlinedVector<std::unique_ptr<PJRT_Event>, kMaxInline> events;
    buffers.reserve(args_.num_devices * arrays_.size());
    events.reserve(args_.num_devices);
    for (size_t d = 0; d < args_.num_devices; ++d) {
      PJRT_Device* const device = device_of(args_, d);
      for (size_t k = 0; k < arrays_.size(); ++k) {
        const bool whole = types[k] == program_.results[k];
        buffers.emplace_back(make_buffer(args_.executable->client, device, program_.results[k],
                                         arrays_[k], whole ? -1 : static_cast<int>(d)));
        buffers.back()->layout = program_.result_layouts[k];
        buffers.back()->memory_kind = program_.result_memory_kinds.kinds[k];
      }
      if (args_.device_complete_events != nullptr) events.emplace_back(make_event(done_));
    }
    for (size_t d = 0; d < args_.num_devices; ++d) {
      for (size_t k = 0; k < arrays_.size(); ++k) {
        args_.output_lists[d][k] = buffers[d * arrays_.size() + k].release();
      }
      if (!events.empty()) args_.device_complete_events[d] = events[d].release();
    }
  }

 private:
  bool is_donatable(size_t parameter) const {
    const std::span<const int64_t> kept(options_.non_donatable_input_indices,
                                        options_.num_non_donatable_input_indices);
    return std::ranges::find(kept, static_cast<int64_t>(parameter)) == kept.end();
  }

  // A program takes a parameter that its sharding gives to all devices once. A caller that computes
  // it on each device, and says that they are the same, may be wrong.
  bool values_differ() const {
    if (program_.options.num_partitions == 1) return false;
    for (size_t p = 0; p < columns_.size(); ++p) {
      const bool once = executable_->parameter_types()[p] == program_.parameters[p];
      if (once && columns_[p].has_unlike_slices()) return true;
    }
    return false;
  }

  void bind_arguments() {
    const size_t count = args_.num_args;
    arguments_.reserve(count);
    for (size_t p = 0; p < count; ++p) {
      const Column& column = columns_[p];
      const TensorType& type = executable_->parameter_types()[p];
      // A program of several devices takes the parts of all as one array, or one value for all.
      const bool in_place =
          type == program_.parameters[p] ? column.buffers()[0]->slice < 0 : column.is_stacked();
      if (in_place) {
        arguments_.push_back(
            {.buffer = column.array().get(),
             .donate = program_.donated[p] && is_donatable(p) && column.may_donate()});
        continue;
      }
      copies_.push_back(type == program_.parameters[p] ? elements_of(*column.buffers()[0])
                                                       : column.stack(type));
      arguments_.push_back({.host = &copies_.back()});
    }
  }

  void delete_donors() const {
    for (size_t p = 0; p < columns_.size(); ++p) {
      if (!program_.donors[p] || !is_donatable(p)) continue;
      for (PJRT_Buffer* const buffer : columns_[p].buffers()) {
        const systole::MutexLock lock(buffer->mutex);
        buffer->array.reset();
      }
    }
  }

  const PJRT_LoadedExecutable_Execute_Args& args_;
  const Program& program_;
  std::shared_ptr<runtime::Executable> executable_;  // another thread may delete the program
  PJRT_ExecuteOptions options_;
  absl::InlinedVector<Column, kMaxInline> columns_;  // by parameter
  std::list<Tensor> copies_;                         // of arguments that are in several arrays
  absl::InlinedVector<Argument, kMaxInline> arguments_;
  absl::InlinedVector<Result, kMaxInline> results_;
  // By result; null: in place.
  absl::InlinedVector<std::unique_ptr<runtime::Buffer>, kMaxInline> new_buffers_;
  absl::InlinedVector<std::shared_ptr<runtime::Buffer>, kMaxInline> arrays_;  // by result
  runtime::Event done_;
};

}  // namespace

PJRT_Error* loaded_executable_execute(PJRT_LoadedExecutable_Execute_Args* args) {
  return run(kExecute, args, [](PJRT_LoadedExecutable_Execute_Args& a) {
    Call call(a);
    call.run();
    call.give_results();
  });
}

PJRT_Error* execute_context_create(PJRT_ExecuteContext_Create_Args* args) {
  return run("PJRT_ExecuteContext_Create", args,
             [](PJRT_ExecuteContext_Create_Args& a) { a.context = new PJRT_ExecuteContext(); });
}

PJRT_Error* execute_context_destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  return run("PJRT_ExecuteContext_Destroy", args,
             [](PJRT_ExecuteContext_Destroy_Args& a) { delete a.context; });
}

}  // namespace systole::plugin
