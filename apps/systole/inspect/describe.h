// The contents of files as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/systole/inspect/kind.h"
#include "systole/base/tensor.h"

namespace systole::app {

using Json = nlohmann::ordered_json;

// {"kind": ..., "path": ..., and the fields of the kind}. Errors: those of reading.
Json describe(FileSystem& file_system, const FoundFile& file);

// Reads one tensor: by name from a checkpoint or the variables of a SavedModel, or the array of a
// file with one array. Errors: NOT_FOUND with similar names; INVALID_ARGUMENT for a file without
// tensors.
Tensor read_tensor(FileSystem& file_system, const FoundFile& file, const std::string& name);

// {"dtype", "shape", "values" (nested lists)}. Numbers that JSON lacks (NaN) are strings.
Json to_json(const Tensor& tensor);
// The elements alone, as nested lists.
Json values_json(const Tensor& tensor);

}  // namespace systole::app
