#include "systole/worker/protocol/convert.h"

#include <algorithm>
#include <cstring>

#include "systole/io/wire/crc32c.h"

namespace systole::worker {
namespace {

constexpr int kMaxRank = 64;
// More than any machine has.
constexpr int64_t kMaxThreads = 4096;
constexpr int64_t kMaxArrayBytes = int64_t{1} << 62;

Code code_from_wire(int32_t number) {
  const bool known = number >= static_cast<int32_t>(Code::cancelled) &&
                     number <= static_cast<int32_t>(Code::unauthenticated);
  return known ? static_cast<Code>(number) : Code::unknown;
}

}  // namespace

OperationSpan span_of(const v1::Request& request) {
  using tracing::Kind;
  switch (request.op_case()) {
    case v1::Request::kCompile:
      return {"compile on the worker", Kind::compile};
    case v1::Request::kDeserialize:
      return {"load a program", Kind::compile};
    case v1::Request::kPut:
      return {"put", Kind::transfer};
    case v1::Request::kExecute:
      return {"execute", Kind::launch};
    case v1::Request::kFetch:
      return {"fetch", Kind::transfer};
    default:
      return {"request", Kind::other};
  }
}

void check_versions(uint32_t oldest, uint32_t newest) {
  if (oldest <= kNewestVersion && newest >= kOldestVersion) return;
  throw failed_precondition("worker: protocol version, got {} to {}, expected one of {} to {}",
                            oldest, newest, kOldestVersion, kNewestVersion);
}

void to_wire(const TensorType& type, v1::Type& message) {
  message.set_dtype(std::string(dtype_info(type.dtype).mlir_name));
  for (const int64_t dim : type.shape) message.add_dims(dim);
}

TensorType from_wire(const v1::Type& message) {
  const auto dtype = dtype_from_mlir(message.dtype());
  if (!dtype || !is_numeric(*dtype)) {
    throw invalid_argument("worker: element type, got '{}', expected one of StableHLO's",
                           message.dtype().substr(0, 40));
  }
  if (message.dims_size() > kMaxRank) {
    throw invalid_argument("worker: rank, got {}, expected at most {}", message.dims_size(),
                           kMaxRank);
  }
  int64_t bytes = size_of(*dtype);
  for (const int64_t dim : message.dims()) {
    if (dim < 0) throw invalid_argument("worker: dimension, got {}, expected 0 or more", dim);
    if (dim > 0 && bytes > kMaxArrayBytes / dim) {
      throw invalid_argument("worker: array, got 2^62 bytes or more");
    }
    bytes *= std::max<int64_t>(dim, 1);
  }
  return {*dtype, Shape(Dims(message.dims().begin(), message.dims().end()))};
}

void to_wire(const Error& error, v1::Error& message) {
  message.set_code(static_cast<int32_t>(error.code()));
  message.set_message(error.message().substr(0, kMaxErrorBytes));
}

Error from_wire(const v1::Error& message) {
  return {code_from_wire(message.code()), message.message()};
}

void to_wire(const runtime::CompileOptions& options, v1::CompileOptions& message) {
  message.set_num_replicas(options.num_replicas);
  message.set_num_partitions(options.num_partitions);
  for (const int id : options.device_assignment) message.add_device_assignment(id);
  for (const bool replicated : options.replicated_parameters) {
    message.add_replicated_parameters(replicated);
  }
  message.set_program(runtime::to_text(options.program));
  message.set_optimize(options.optimize);
  message.set_num_threads(options.num_threads);
  message.set_memory_limit(options.memory_limit);
}

runtime::CompileOptions from_wire(const v1::CompileOptions& message) {
  const auto bounded = [](const char* what, int64_t got, int64_t least, int64_t most) {
    if (got >= least && got <= most) return;
    throw invalid_argument("worker: {}, got {}, expected {} to {}", what, got, least, most);
  };
  bounded("num_replicas", message.num_replicas(), 1, kMaxReplicas);
  bounded("num_partitions", message.num_partitions(), 1, kMaxReplicas);
  bounded("num_replicas x num_partitions",
          int64_t{message.num_replicas()} * message.num_partitions(), 1, kMaxReplicas);
  bounded("device_assignment's ids", message.device_assignment_size(), 0, kMaxReplicas);
  for (const int id : message.device_assignment()) bounded("device id", id, 0, kMaxReplicas);
  bounded("num_threads", message.num_threads(), 0, kMaxThreads);
  bounded("memory_limit", message.memory_limit(), 0, INT64_MAX);
  return {
      .program = runtime::program_options_of(message.program()),
      .num_replicas = message.num_replicas(),
      .num_partitions = message.num_partitions(),
      .device_assignment = {message.device_assignment().begin(), message.device_assignment().end()},
      .replicated_parameters = {message.replicated_parameters().begin(),
                                message.replicated_parameters().end()},
      .optimize = message.optimize(),
      .num_threads = message.num_threads(),
      .memory_limit = message.memory_limit()};
}

void to_wire(const runtime::Device& device, v1::Device& message) {
  message.set_id(device.id);
  for (const int coordinate : device.coordinates) message.add_coordinates(coordinate);
  message.set_core_on_chip(device.core_on_chip);
  message.set_name(device.name);
  message.set_kind(device.kind);
  message.set_memory_bytes(device.memory_bytes);
}

runtime::Device from_wire(const v1::Device& message) {
  runtime::Device device{.id = static_cast<int>(message.id()),
                         .core_on_chip = static_cast<int>(message.core_on_chip()),
                         .name = message.name(),
                         .kind = message.kind(),
                         .memory_bytes = message.memory_bytes()};
  const int axes =
      std::min<int>(message.coordinates_size(), static_cast<int>(device.coordinates.size()));
  for (int axis = 0; axis < axes; ++axis) {
    device.coordinates[axis] = static_cast<int>(message.coordinates(axis));
  }
  return device;
}

void to_wire(const runtime::ExecutableStats& stats, v1::Stats& message) {
  message.set_argument_bytes(stats.argument_bytes);
  message.set_result_bytes(stats.result_bytes);
  message.set_temp_bytes(stats.temp_bytes);
  message.set_code_bytes(stats.code_bytes);
  message.set_flops(stats.flops);
  message.set_transcendentals(stats.transcendentals);
  message.set_reference_steps(stats.reference_steps);
  message.set_compile_seconds(stats.compile_seconds);
  message.set_code_cached(stats.code_cached);
}

runtime::ExecutableStats from_wire(const v1::Stats& message) {
  return {.argument_bytes = message.argument_bytes(),
          .result_bytes = message.result_bytes(),
          .temp_bytes = message.temp_bytes(),
          .code_bytes = message.code_bytes(),
          .flops = message.flops(),
          .transcendentals = message.transcendentals(),
          .reference_steps = message.reference_steps(),
          .compile_seconds = message.compile_seconds(),
          .code_cached = message.code_cached()};
}

void to_wire(const runtime::StepProfile& step, v1::StepProfile& message) {
  message.set_step(step.step);
  message.set_interpreted(step.interpreted);
  message.set_runs(step.runs);
  message.set_seconds(step.seconds);
  message.set_flops(step.flops);
  message.set_bytes(step.bytes);
}

runtime::StepProfile from_wire(const v1::StepProfile& message) {
  return {.step = message.step(),
          .interpreted = message.interpreted(),
          .runs = message.runs(),
          .seconds = message.seconds(),
          .flops = message.flops(),
          .bytes = message.bytes()};
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.byte_size())};
}

void set_bytes(std::string_view bytes, v1::Data& message) {
  message.set_bytes(bytes.data(), bytes.size());
  message.set_crc32c(crc32c(bytes));
}

std::string_view checked_bytes(const v1::Data& message, std::string_view what) {
  if (message.place_case() == v1::Data::kTransfer) {
    throw invalid_argument("worker: {}, got a transfer, expected its bytes", what);
  }
  const uint32_t sum = crc32c(message.bytes());
  if (sum != message.crc32c()) {
    throw make_error(Code::data_loss, "worker: {}, got CRC-32C {:08x}, expected {:08x}", what, sum,
                     message.crc32c());
  }
  return message.bytes();
}

void copy_bytes(const v1::Data& message, Tensor& target, std::string_view what) {
  const std::string_view bytes = checked_bytes(message, what);
  if (bytes.size() != static_cast<size_t>(target.byte_size())) {
    throw invalid_argument("worker: {}, got {} bytes, expected {} of {}", what, bytes.size(),
                           target.byte_size(), target.type());
  }
  if (!bytes.empty()) std::memcpy(target.raw(), bytes.data(), bytes.size());
}

}  // namespace systole::worker
