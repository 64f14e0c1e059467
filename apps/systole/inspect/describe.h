// What files hold, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/systole/inspect/kind.h"
#include "systole/base/tensor.h"

namespace systole::app {

using Json = nlohmann::ordered_json;

// {"kind": ..., "path": ..., and what the kind has}. Errors: those of reading.
Json describe(FileSystem& file_system, const FoundFile& file);

// One tensor: of a checkpoint or the variables of a SavedModel by name, a file of one array as it
// is. Errors: NOT_FOUND with near misses; INVALID_ARGUMENT for a file without tensors.
Tensor read_tensor(FileSystem& file_system, const FoundFile& file, const std::string& name);

// {"dtype", "shape", "values" (nested lists)}. Numbers that JSON lacks (NaN) are strings.
Json to_json(const Tensor& tensor);
// The elements alone, as nested lists.
Json values_json(const Tensor& tensor);

}  // namespace systole::app
