#include "systole/pjrt_abi/compile_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>

#include "systole/base/error.h"
#include "systole/io/wire/varint.h"

namespace systole::pjrt_abi {
namespace {

// Wire types of protobuf. Not wire::Reader: the plugin, a shared library, does not link io.
enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Numbers of the fields.
constexpr uint64_t kBuildOptions = 3;
constexpr uint64_t kPortable = 4;
constexpr uint64_t kOptionOverrides = 7;
constexpr uint64_t kOverrideName = 1;
constexpr uint64_t kOverrideValue = 2;
constexpr uint64_t kOverrideText = 1;  // of the value
constexpr uint64_t kDeviceOrdinal = 1;
constexpr uint64_t kNumReplicas = 4;
constexpr uint64_t kNumPartitions = 5;
constexpr uint64_t kUseSpmdPartitioning = 6;
constexpr uint64_t kDeviceAssignment = 9;
constexpr uint64_t kPropagateToResults = 12;
constexpr uint64_t kPropagateToParameters = 18;
constexpr uint64_t kUseShardy = 19;
constexpr uint64_t kReplicaCount = 1;
constexpr uint64_t kComputationCount = 2;
constexpr uint64_t kComputationDevices = 3;
constexpr uint64_t kReplicaDeviceIds = 1;

Error malformed(std::string_view what) {
  return invalid_argument("PJRT compile options: {}, expected a CompileOptionsProto", what);
}

uint64_t read_number(std::string_view& bytes) {
  const auto value = read_varint64(bytes);
  if (!value) throw malformed("got bytes that end inside a number");
  return *value;
}

std::string_view read_bytes(std::string_view& bytes, uint64_t size) {
  if (size > bytes.size()) throw malformed("got bytes that end inside a field");
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return part;
}

struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a message, a string or packed numbers
  bool is_bytes = false;
};

void for_each_field(std::string_view message, const std::function<void(const Field&)>& visit) {
  while (!message.empty()) {
    const uint64_t tag = read_number(message);
    Field field{.number = tag >> 3U};
    switch (static_cast<WireType>(tag & 7U)) {
      case WireType::varint:
        field.value = read_number(message);
        break;
      case WireType::bytes:
        field.bytes = read_bytes(message, read_number(message));
        field.is_bytes = true;
        break;
      case WireType::fixed64:
        read_bytes(message, 8);
        break;
      case WireType::fixed32:
        read_bytes(message, 4);
        break;
      default:
        throw malformed("got a field of an unknown kind");
    }
    visit(field);
  }
}

int to_int(uint64_t value, std::string_view what) {
  const auto number = static_cast<int64_t>(value);
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    throw invalid_argument("PJRT compile options: {}, got {}, expected 32 bits", what, number);
  }
  return static_cast<int>(number);
}

std::vector<int> decode_ids(std::string_view computation) {
  std::vector<int> ids;
  for_each_field(computation, [&](const Field& field) {
    if (field.number != kReplicaDeviceIds) return;
    if (!field.is_bytes) {
      ids.push_back(to_int(field.value, "device id"));
      return;
    }
    std::string_view packed = field.bytes;
    while (!packed.empty()) ids.push_back(to_int(read_number(packed), "device id"));
  });
  return ids;
}

std::vector<int> decode_assignment(std::string_view bytes) {
  std::vector<std::vector<int>> computations;
  for_each_field(bytes, [&](const Field& field) {
    if (field.number == kComputationDevices) computations.push_back(decode_ids(field.bytes));
  });
  std::vector<int> assignment;
  for (size_t r = 0; !computations.empty() && r < computations.front().size(); ++r) {
    for (const std::vector<int>& ids : computations) {
      if (ids.size() != computations.front().size()) {
        throw malformed("got partitions with different numbers of replicas");
      }
      assignment.push_back(ids[r]);
    }
  }
  return assignment;
}

// Booleans of a list, packed or not.
void append_flags(const Field& field, std::vector<bool>& flags) {
  if (!field.is_bytes) return flags.push_back(field.value != 0);
  for (std::string_view packed = field.bytes; !packed.empty();) {
    flags.push_back(read_number(packed) != 0);
  }
}

void decode_build_options(std::string_view bytes, CompileOptions& options) {
  for_each_field(bytes, [&](const Field& field) {
    switch (field.number) {
      case kDeviceOrdinal:
        options.device_ordinal = to_int(field.value, "device_ordinal");
        break;
      case kNumReplicas:
        options.num_replicas = to_int(field.value, "num_replicas");
        break;
      case kNumPartitions:
        options.num_partitions = to_int(field.value, "num_partitions");
        break;
      case kUseSpmdPartitioning:
        options.use_spmd_partitioning = field.value != 0;
        break;
      case kDeviceAssignment:
        options.device_assignment = decode_assignment(field.bytes);
        break;
      case kPropagateToParameters:
        append_flags(field, options.propagate_to_parameters);
        break;
      case kPropagateToResults:
        append_flags(field, options.propagate_to_results);
        break;
      default:
        break;
    }
  });
}

// Options of XLA that are true or false, among those that programs set.
constexpr std::array<std::string_view, 4> kFlags = {"xla_embed_ir_in_executable",
                                                    "xla_dump_hlo_as_text", "xla_dump_hlo_as_proto",
                                                    "xla_cpu_enable_fast_math"};

// The value of a flag, if it is a text, is "true" or "false".
void check_flag(std::string_view name, std::string_view value) {
  for_each_field(value, [&](const Field& field) {
    const std::string_view text = field.bytes;
    if (field.number != kOverrideText || text == "true" || text == "false") return;
    throw invalid_argument("PJRT compile options: option '{}': '{}' is not a valid bool value.",
                           name, text);
  });
}

// XLA's own options, of which this compiler has none, change no result.
void check_override(std::string_view entry) {
  constexpr std::string_view kXla = "xla_";
  std::string_view name;
  std::string_view value;
  for_each_field(entry, [&](const Field& field) {
    if (field.number == kOverrideName) name = field.bytes;
    if (field.number == kOverrideValue) value = field.bytes;
  });
  if (!name.starts_with(kXla)) {
    throw invalid_argument(
        "PJRT compile options: No such compile option: '{}', expected one of XLA's, which begin "
        "with {}",
        name, kXla);
  }
  if (std::ranges::find(kFlags, name) != kFlags.end()) check_flag(name, value);
}

void append_number(std::string& bytes, uint64_t field, int64_t value) {
  append_varint64(bytes, field << 3U);
  append_varint64(bytes, static_cast<uint64_t>(value));
}

void append_bytes(std::string& bytes, uint64_t field, std::string_view value) {
  append_varint64(bytes, field << 3U | static_cast<uint64_t>(WireType::bytes));
  append_varint64(bytes, value.size());
  bytes += value;
}

void check_counts(const CompileOptions& options) {
  if (options.num_replicas < 1 || options.num_partitions < 1) {
    throw invalid_argument(
        "PJRT compile options: num_replicas and num_partitions, got {} and {}, expected >= 1",
        options.num_replicas, options.num_partitions);
  }
  const size_t devices =
      static_cast<size_t>(options.num_replicas) * static_cast<size_t>(options.num_partitions);
  if (!options.device_assignment.empty() && options.device_assignment.size() != devices) {
    throw invalid_argument("PJRT compile options: device_assignment, got {} devices, expected {}",
                           options.device_assignment.size(), devices);
  }
}

}  // namespace

std::string encode_device_assignment(const CompileOptions& options) {
  std::string bytes;
  append_number(bytes, kReplicaCount, options.num_replicas);
  append_number(bytes, kComputationCount, options.num_partitions);
  const auto partitions = static_cast<size_t>(options.num_partitions);
  for (size_t p = 0; p < partitions; ++p) {
    std::string packed;
    for (size_t i = p; i < options.device_assignment.size(); i += partitions) {
      append_varint64(packed, static_cast<uint64_t>(int64_t{options.device_assignment[i]}));
    }
    std::string computation;
    append_bytes(computation, kReplicaDeviceIds, packed);
    append_bytes(bytes, kComputationDevices, computation);
  }
  return bytes;
}

std::string encode(const CompileOptions& options) {
  std::string build;
  append_number(build, kDeviceOrdinal, options.device_ordinal);
  append_number(build, kNumReplicas, options.num_replicas);
  append_number(build, kNumPartitions, options.num_partitions);
  if (options.use_spmd_partitioning) append_number(build, kUseSpmdPartitioning, 1);
  if (options.use_shardy) append_number(build, kUseShardy, 1);
  if (!options.device_assignment.empty()) {
    append_bytes(build, kDeviceAssignment, encode_device_assignment(options));
  }
  std::string bytes;
  append_bytes(bytes, kBuildOptions, build);
  if (options.portable) append_number(bytes, kPortable, 1);
  return bytes;
}

CompileOptions decode_compile_options(std::string_view bytes) {
  CompileOptions options{.num_replicas = 0, .num_partitions = 0};
  for_each_field(bytes, [&](const Field& field) {
    if (field.number == kBuildOptions) decode_build_options(field.bytes, options);
    if (field.number == kPortable) options.portable = field.value != 0;
    if (field.number == kOptionOverrides) check_override(field.bytes);
  });
  check_counts(options);
  return options;
}

}  // namespace systole::pjrt_abi
