#include "systole/worker/operations.h"

#include <cstring>
#include <exception>
#include <list>
#include <utility>
#include <vector>

#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/tracing/span.h"
#include "systole/worker/protocol/convert.h"

namespace systole::worker {
namespace {

Tensor text_tensor(std::string_view text) {
  Tensor tensor(DType::u8, Shape({static_cast<int64_t>(text.size())}));
  if (!text.empty()) std::memcpy(tensor.raw(), text.data(), text.size());
  return tensor;
}

void check_counts(const v1::Execute& op, const runtime::Executable& executable) {
  const auto arguments = static_cast<int>(executable.parameter_types().size());
  const auto results = static_cast<int>(executable.result_types().size());
  if (op.arguments_size() != arguments || op.results_size() != results) {
    throw invalid_argument("worker: arguments and results, got {} and {}, expected {} and {}",
                           op.arguments_size(), op.results_size(), arguments, results);
  }
}

void check_type(int index, const TensorType& got, const TensorType& expected) {
  if (got == expected) return;
  throw invalid_argument("worker: argument {}, got {}, expected {}", index, got, expected);
}

// The bytes of the error that a buffer keeps. One operation may fail many buffers.
constexpr size_t kStoredErrorBytes = 1024;

Error shortened(const Error& error) {
  return {error.code(), error.message().substr(0, kStoredErrorBytes)};
}

// The exception being handled as an error of its operation, whatever it is: programs and libraries
// below may throw more than Error.
Error current_operation_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted, "worker: memory, got none left");
  } catch (const std::exception& other) {
    return make_error(Code::internal, "worker: operation, got '{}'", other.what());
  } catch (...) {
    return make_error(Code::internal, "worker: operation, got an unknown exception");
  }
}

}  // namespace

// The arguments and results of one launch, and what they hold.
struct Operations::Launch {
  std::vector<runtime::Argument> arguments;
  std::vector<runtime::Result> results;
  std::list<Tensor> inline_values;
  std::list<std::shared_ptr<Transfer>> uploads;
  std::list<Array> host_values;                             // by result whose place is the host
  std::list<std::unique_ptr<runtime::Buffer>> new_buffers;  // by result that is a new buffer
  std::vector<Charge> buffer_charges;                       // by result that is a new buffer
  std::vector<Charge> charges;
  bool started = false;
};

void Operations::run(v1::Request& request, v1::Reply& reply) {
  free(request);
  try {
    dispatch(request, reply);
  } catch (...) {
    fail(request, current_operation_error(), reply);
  }
}

void Operations::refuse(v1::Request& request, const Error& error, v1::Reply& reply) {
  free(request);
  fail(request, error, reply);
}

void Operations::free(const v1::Request& request) {
  for (const uint64_t id : request.free()) {
    objects_.free(id);
    transfers_.free(id);
  }
}

void Operations::dispatch(const v1::Request& request, v1::Reply& reply) {
  const auto [name, kind] = span_of(request);
  const tracing::Span span(name, kind, {"op", static_cast<int64_t>(request.op_id())});
  switch (request.op_case()) {
    case v1::Request::kCompile:
      return compile(request.compile(), reply);
    case v1::Request::kDeserialize:
      return deserialize(request.deserialize(), reply);
    case v1::Request::kPut:
      return put(request.put());
    case v1::Request::kExecute:
      return execute(request.execute(), reply);
    case v1::Request::kFetch:
      return fetch(request.fetch(), reply);
    case v1::Request::kDescribe:
      return describe(request.describe(), reply);
    case v1::Request::kMemoryStats:
      return memory_stats(request.memory_stats(), reply);
    case v1::Request::kNothing:
      return;
    default:
      throw unimplemented("worker: operation, got one that version {} does not have",
                          kNewestVersion);
  }
}

void Operations::fail(const v1::Request& request, const Error& error, v1::Reply& reply) {
  if (request.has_execute()) return fail_execute(request.execute(), error, reply);
  reply.clear_result();
  to_wire(error, *reply.mutable_error());
  if (request.has_put()) poison(request.put().buffer(), error);
}

void Operations::fail_execute(const v1::Execute& op, const Error& error, v1::Reply& reply) {
  reply.clear_result();
  to_wire(error, *reply.mutable_error());
  for (const v1::Execute::Result& result : op.results()) {
    if (result.place_case() == v1::Execute::Result::kBuffer) poison(result.buffer(), error);
  }
}

void Operations::poison(uint64_t id, const Error& error) {
  try {
    objects_.check_new(id);
    Charge charge = account_->charge(kStoredErrorBytes, "error");
    StoredBuffer& stored = objects_.add_buffer(id);
    stored.charge = std::move(charge);
    stored.error = shortened(error);
  } catch (const Error&) {
    return;  // no memory, or the id is in use: the client's mistake does not change that buffer
  }
}

std::string Operations::program_bytes(const v1::Data& data, const char* what) {
  if (data.place_case() == v1::Data::kTransfer) {
    const auto transfer = transfers_.take(data.transfer());
    if (transfer->value.byte_size() <= limits_.max_program_bytes) {
      return std::string(bytes_of(transfer->value));
    }
    throw make_error(Code::resource_exhausted, "worker: {}, got {} bytes, expected at most {}",
                     what, transfer->value.byte_size(), limits_.max_program_bytes);
  }
  const std::string_view bytes = checked_bytes(data, what);
  if (static_cast<int64_t>(bytes.size()) <= limits_.max_program_bytes) return std::string(bytes);
  throw make_error(Code::resource_exhausted, "worker: {}, got {} bytes, expected at most {}", what,
                   bytes.size(), limits_.max_program_bytes);
}

void Operations::add_executable(uint64_t id, std::unique_ptr<runtime::Executable> executable,
                                int64_t program_bytes, v1::Reply& reply) {
  // What it keeps: its code, its constants, and the memory of temporaries after its first run.
  const runtime::ExecutableStats& stats = executable->stats();
  Charge charge =
      account_->charge(stats.code_bytes + stats.temp_bytes + program_bytes, "compiled program");
  v1::Compiled& compiled = *reply.mutable_compiled();
  for (const TensorType& type : executable->parameter_types()) {
    to_wire(type, *compiled.add_parameters());
  }
  for (const TensorType& type : executable->result_types()) to_wire(type, *compiled.add_results());
  to_wire(stats, *compiled.mutable_stats());
  objects_.add_executable(id, {std::move(executable), std::move(charge)});
}

void Operations::compile(const v1::Compile& op, v1::Reply& reply) {
  objects_.check_new(op.executable());
  std::string program = program_bytes(op.program(), "program");
  const auto size = static_cast<int64_t>(program.size());
  runtime::CompileOptions options = from_wire(op.options());
  if (options.memory_limit == 0 || options.memory_limit > account_->limit()) {
    options.memory_limit = account_->limit();
  }
  auto compiled = compiler_.run([&device = device_, options, bytes = std::move(program)] {
    const auto modules = hlo::read_modules(bytes, "program");
    if (modules.size() != 1) {
      throw invalid_argument("worker: program, got {} modules, expected 1", modules.size());
    }
    hlo::verify(*modules.front());
    return device.compile(*modules.front(), options);
  });
  add_executable(op.executable(), std::move(compiled), size, reply);
}

void Operations::deserialize(const v1::Deserialize& op, v1::Reply& reply) {
  objects_.check_new(op.executable());
  std::string program = program_bytes(op.bytes(), "compiled program");
  const auto size = static_cast<int64_t>(program.size());
  auto compiled = compiler_.run(
      [&device = device_, bytes = std::move(program)] { return device.deserialize(bytes); });
  // The limit in the bytes is the client's.
  const runtime::ExecutableStats& stats = compiled->stats();
  const int64_t needed = stats.argument_bytes + stats.result_bytes + stats.temp_bytes;
  if (needed > account_->limit()) {
    throw make_error(Code::resource_exhausted,
                     "worker: memory of a compiled program, got {} bytes, expected at most {}",
                     needed, account_->limit());
  }
  add_executable(op.executable(), std::move(compiled), size, reply);
}

void Operations::put(const v1::Put& op) {
  objects_.check_new(op.buffer());
  const TensorType type = from_wire(op.type());
  Tensor value;
  Charge charge;
  if (op.value().place_case() == v1::Data::kTransfer) {
    const auto transfer = transfers_.take(op.value().transfer());
    if (transfer->value.type() != type) {
      throw invalid_argument("worker: uploaded array, got {}, expected {}", transfer->value.type(),
                             type);
    }
    value = std::move(transfer->value);
    charge = std::move(transfer->charge);
  } else {
    charge = account_->charge(type.byte_size(), "buffer");
    value = Tensor(type);
    copy_bytes(op.value(), value, "array");
  }
  if (op.device_ids_size() > kMaxReplicas) {
    throw invalid_argument("worker: devices of an array, got {}, expected at most {}",
                           op.device_ids_size(), kMaxReplicas);
  }
  const std::vector<int> devices(op.device_ids().begin(), op.device_ids().end());
  auto buffer =
      device_.buffer_from_host(std::move(value), {.device_ids = devices, .stacked = op.stacked()});
  StoredBuffer& stored = objects_.add_buffer(op.buffer());
  stored.buffer = std::move(buffer);
  stored.charge = std::move(charge);
}

void Operations::add_argument(const v1::Execute& op, int index, const TensorType& type,
                              Launch& launch) {
  const v1::Execute::Argument& argument = op.arguments(index);
  if (argument.value_case() == v1::Execute::Argument::kBuffer) {
    const StoredBuffer& stored = objects_.buffer(argument.buffer());
    if (stored.error) {
      launch.started = true;  // locally this is an error of the launch, too
      throw Error(*stored.error);
    }
    check_type(index, stored.buffer->type(), type);
    launch.arguments.push_back({.buffer = stored.buffer.get(), .donate = argument.donate()});
    return;
  }
  if (argument.host().place_case() == v1::Data::kTransfer) {
    launch.uploads.push_back(transfers_.take(argument.host().transfer()));
    check_type(index, launch.uploads.back()->value.type(), type);
    launch.arguments.push_back({.host = &launch.uploads.back()->value});
    return;
  }
  launch.charges.push_back(account_->charge(type.byte_size(), "argument"));
  launch.inline_values.emplace_back(type);
  copy_bytes(argument.host(), launch.inline_values.back(), "argument");
  launch.arguments.push_back({.host = &launch.inline_values.back()});
}

void Operations::add_result(const v1::Execute::Result& result, const TensorType& type,
                            Launch& launch) {
  switch (result.place_case()) {
    case v1::Execute::Result::kBuffer:
      objects_.check_new(result.buffer());
      launch.buffer_charges.push_back(account_->charge(type.byte_size(), "result"));
      launch.results.push_back({.device = &launch.new_buffers.emplace_back()});
      return;
    case v1::Execute::Result::kHost:
      launch.charges.push_back(account_->charge(type.byte_size(), "result"));
      launch.results.push_back({.host = &launch.host_values.emplace_back(host_array(type)).value});
      return;
    default:
      launch.results.push_back({});
  }
}

runtime::Event Operations::start(runtime::Executable& executable,
                                 const runtime::ExecuteOptions& options, Launch& launch) {
  try {
    runtime::Event done = executable.execute(launch.arguments, launch.results, options);
    launch.started = true;
    return done;
  } catch (const Error&) {
    throw;  // nothing was launched
  } catch (...) {
    launch.started = true;
    throw Error(current_operation_error());
  }
}

void Operations::execute(const v1::Execute& op, v1::Reply& reply) {
  Launch launch;
  try {
    runtime::Executable& executable = objects_.executable(op.executable());
    check_counts(op, executable);
    for (int i = 0; i < op.arguments_size(); ++i) {
      add_argument(op, i, executable.parameter_types()[i], launch);
    }
    for (int k = 0; k < op.results_size(); ++k) {
      add_result(op.results(k), executable.result_types()[k], launch);
    }
    std::vector<runtime::StepProfile> profile;
    start(executable, {.profile = op.profile() ? &profile : nullptr}, launch).wait();
    for (const runtime::StepProfile& step : profile) {
      to_wire(step, *reply.mutable_executed()->add_profile());
    }
    launch.charges.clear();
    give_results(op, launch, reply);
  } catch (const Error& error) {
    if (!launch.started) throw;
    lose_donated(op, error);
    fail_execute(op, error, reply);
    reply.mutable_error()->set_launched(true);
  }
}

void Operations::give_results(const v1::Execute& op, Launch& launch, v1::Reply& reply) {
  v1::Executed& executed = *reply.mutable_executed();
  auto buffer = launch.new_buffers.begin();
  auto host = launch.host_values.begin();
  auto charge = launch.buffer_charges.begin();
  for (const v1::Execute::Result& result : op.results()) {
    if (result.place_case() == v1::Execute::Result::kBuffer) {
      StoredBuffer& stored = objects_.add_buffer(result.buffer());
      stored.buffer = std::move(*buffer++);
      stored.charge = std::move(*charge++);
    } else if (result.place_case() == v1::Execute::Result::kHost) {
      give(std::move(*host++), result.host(), *executed.add_host());
    }
  }
}

void Operations::lose_donated(const v1::Execute& op, const Error& error) {
  for (const v1::Execute::Argument& argument : op.arguments()) {
    if (argument.value_case() != v1::Execute::Argument::kBuffer || !argument.donate()) continue;
    StoredBuffer& stored = objects_.buffer(argument.buffer());
    if (!stored.error) stored.error = shortened(error);
  }
}

Array Operations::host_array(const TensorType& type) {
  return type.byte_size() <= kInlineBytes ? Array{Tensor(type)} : transfers_.allocate(type);
}

void Operations::give(Array array, uint64_t id, v1::Data& data) {
  const int64_t size = array.value.byte_size();
  if (size <= kInlineBytes) return set_bytes(bytes_of(array.value), data);
  data.set_transfer(id);
  data.set_size(static_cast<uint64_t>(size));
  transfers_.add_result(id, std::move(array));
}

void Operations::fetch(const v1::Fetch& op, v1::Reply& reply) {
  const StoredBuffer& stored = objects_.buffer(op.buffer());
  if (stored.error) throw Error(*stored.error);
  Array array = host_array(stored.buffer->type());
  stored.buffer->copy_to_host(array.value).wait();
  give(std::move(array), op.transfer(), *reply.mutable_data());
}

void Operations::describe(const v1::Describe& op, v1::Reply& reply) {
  const runtime::Executable& executable = objects_.executable(op.executable());
  const std::string text = op.what() == v1::Describe::SERIALIZED ? executable.serialize()
                                                                 : executable.optimized_program();
  give({text_tensor(text)}, op.transfer(), *reply.mutable_data());
}

void Operations::memory_stats(const v1::MemoryStats& op, v1::Reply& reply) {
  if (op.device_id() != static_cast<int>(op.device_id())) {
    throw invalid_argument("worker: device, got {}, which is none", op.device_id());
  }
  const runtime::MemoryStats stats = device_.memory_stats(static_cast<int>(op.device_id()));
  v1::MemoryStatsReply& message = *reply.mutable_memory_stats();
  message.set_bytes_in_use(stats.bytes_in_use);
  message.set_peak_bytes_in_use(stats.peak_bytes_in_use);
  message.set_bytes_limit(stats.bytes_limit);
}

}  // namespace systole::worker
