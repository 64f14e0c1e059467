// The order of an array's axes that callers ask for and see. Arrays lie row-major in memory: the
// order is kept with them, and elements are put in it when they go to the host.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"
#include "systole/hlo/ir/module.h"
#include "systole/pjrt_abi/pjrt_c_api.h"

// NOLINTNEXTLINE(readability-identifier-naming): the API's name
struct PJRT_Layouts_MemoryLayout {
  std::vector<int64_t> minor_to_major;
};

namespace systole::plugin {

using Layout = PJRT_Layouts_MemoryLayout;

// Returns the layout with the last axis the fastest.
Layout row_major(int rank);
// Checks a layout that a caller asks for. Errors: INVALID_ARGUMENT, naming `function`, if it does
// not have each axis once.
void check_layout(std::string_view function, const Layout& layout, const TensorType& type);
// Reads the attribute mhlo.layout_mode of a parameter or a result of main. Errors: UNIMPLEMENTED
// for tiles; INVALID_ARGUMENT for other texts.
Layout read_layout(const hlo::AttributeTexts& attributes, const TensorType& type);
// Returns whether that attribute leaves the layout to the program.
bool is_auto_layout(const hlo::AttributeTexts& attributes);
// Reads the attribute mhlo.memory_kind: a place in kMemoryKinds. Errors: INVALID_ARGUMENT for other
// kinds.
size_t read_memory_kind(const hlo::AttributeTexts& attributes);

extern PJRT_Layouts_Extension layouts_extension;

}  // namespace systole::plugin
