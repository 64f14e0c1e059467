// The options of PJRT_Client_Compile: XLA's CompileOptionsProto, of which the fields below are read
// and written. Encoded by hand, because a plugin is loaded into programs with a protobuf library of
// their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::pjrt_abi {

struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;
  bool use_spmd_partitioning = false;
  bool use_shardy = false;  // shardings are Shardy's, as JAX writes them; written only
  // Runs on the device that each execution names. Then there is one replica and no assignment.
  bool portable = false;
  int device_ordinal = -1;  // of a program with one device and no assignment; -1: not given
  // The id of the device of partition p of replica r, at r * num_partitions + p. Empty: the
  // client's default.
  std::vector<int> device_assignment = {};
  // By parameter and result, or one for all: whether the compiler may choose how it is split.
  std::vector<bool> propagate_to_parameters = {};
  std::vector<bool> propagate_to_results = {};
};

std::string encode(const CompileOptions& options);

// Ignores fields that it does not know, and XLA's flags. Errors: INVALID_ARGUMENT for bytes that
// are no message, for fewer than one replica or partition, for an assignment of another size, and
// for an overridden option whose name does not begin with xla_.
CompileOptions decode_compile_options(std::string_view bytes);

// XLA's DeviceAssignmentProto.
std::string encode_device_assignment(const CompileOptions& options);

}  // namespace systole::pjrt_abi
