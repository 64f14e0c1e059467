// Session targets: the device system that a session runs on.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "systole/graph/core/op_def.h"
#include "systole/runtime/client.h"

namespace systole {

// The system that a target string names.
struct Target {
  std::string name;         // as given
  runtime::Client* client;  // lives until exit
  HostEnvironment environment;
  int64_t memory_per_core = 0;  // bytes; 0: no limit of its own
};

// A kind of target, known by the text before the first ':' of the string.
struct TargetScheme {
  std::string scheme;  // "local"; "" for the empty target
  std::string forms;   // for errors: "'local' or 'local:N' (a virtual TPU)"
  // Errors: INVALID_ARGUMENT for text that the scheme does not take; UNAVAILABLE for a system that
  // does not answer; those of runtime::client().
  std::function<Target(std::string_view target, std::string_view backend)> resolve;
};

// Adds a scheme. Errors: ALREADY_EXISTS. Thread-safe.
void register_target_scheme(TargetScheme scheme);

// Whether a registered scheme takes the target. Thread-safe.
bool has_target_scheme(std::string_view target);

// The forms of all targets but the empty one, as a list for errors and help. Thread-safe.
std::string target_forms();

// The system that `target` names. `backend` is the name of the backend that computes, where the
// scheme leaves a choice; "": the scheme's default. Errors: INVALID_ARGUMENT for an unknown scheme,
// with the forms of the known ones; those of the scheme. Thread-safe.
Target resolve_target(std::string_view target, std::string_view backend);

}  // namespace systole
