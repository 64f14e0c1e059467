// What a program takes and gives.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::pjrt {

// Ids of one or more devices.
using DeviceIds = std::shared_ptr<const std::vector<int>>;

// By parameter and by result of the program.
struct Interface {
  std::string name;                    // the program's
  std::vector<TensorType> parameters;  // whole arrays
  std::vector<TensorType> results;
  std::vector<bool> stacked_parameters;  // replica r takes slice r
  std::vector<bool> stacked_results;
  std::vector<int> aliased_parameter;  // by result; -1: none
  std::vector<bool> aliased;           // by parameter
  DeviceIds device_ids;                // by replica
};

// Writes an interface as words, and reads it. Errors of parse_interface(): DATA_LOSS, with
// `platform`, for a text that to_text() did not make.
std::string to_text(const Interface& interface);
Interface parse_interface(std::string_view platform, std::string_view text);

}  // namespace systole::pjrt
