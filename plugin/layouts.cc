#include "plugin/layouts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <numeric>
#include <string>

#include "plugin/error.h"
#include "plugin/ffi.h"
#include "plugin/objects.h"

// NOLINTBEGIN(readability-identifier-naming): the API's names
struct PJRT_Layouts_SerializedLayout {
  std::string bytes;
};
struct PJRT_MemoryDescription {
  size_t kind;
};
// NOLINTEND(readability-identifier-naming)

namespace systole::plugin {
namespace {

constexpr const char* kLayoutMode = "mhlo.layout_mode";

// The string of attribute `name`, without quotes; "" if it is missing.
std::string_view text_of(const hlo::AttributeTexts& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return "";
  std::string_view text = found->second;
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

PJRT_Error* destroy_layout(PJRT_Layouts_MemoryLayout_Destroy_Args* args) {
  return run("PJRT_Layouts_MemoryLayout_Destroy", args,
             [](PJRT_Layouts_MemoryLayout_Destroy_Args& a) { delete a.layout; });
}

PJRT_Error* serialize_layout(PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  return run("PJRT_Layouts_MemoryLayout_Serialize", args,
             [](PJRT_Layouts_MemoryLayout_Serialize_Args& a) {
               auto* const kept = new PJRT_Layouts_SerializedLayout{
                   fmt::format("{{{}}}", fmt::join(a.layout->minor_to_major, ","))};
               a.serialized_bytes = kept->bytes.data();
               a.serialized_bytes_size = kept->bytes.size();
               a.serialized_layout = kept;
               a.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* l) { delete l; };
             });
}

PJRT_Error* client_default_layout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  return run("PJRT_Layouts_PJRT_Client_GetDefaultLayout", args,
             [](PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& a) {
               a.layout = new Layout(row_major(static_cast<int>(a.num_dims)));
             });
}

PJRT_Error* topology_default_layout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  return run("PJRT_Layouts_PJRT_Topology_GetDefaultLayout", args,
             [](PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& a) {
               a.layout = new Layout(row_major(static_cast<int>(a.num_dims)));
             });
}

PJRT_Error* buffer_layout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  return run("PJRT_Layouts_PJRT_Buffer_MemoryLayout", args,
             [](PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& a) {
               a.layout = new Layout(a.buffer->layout);
             });
}

PJRT_Error* output_layouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args) {
  return run("PJRT_Layouts_PJRT_Executable_GetOutputLayouts", args,
             [](PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& a) {
               const std::vector<Layout*>& list = a.executable->result_layouts;
               a.num_outputs = list.size();
               a.layouts = const_cast<Layout**>(list.data());
             });
}

PJRT_Error* parameter_layouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args) {
  return run("PJRT_Layouts_PJRT_Executable_GetParameterLayouts", args,
             [](PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& a) {
               const std::vector<Layout*>& list = a.executable->parameter_layouts;
               a.num_parameters = list.size();
               a.layouts = const_cast<Layout**>(list.data());
             });
}

PJRT_Error* memory_descriptions(PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  return run("PJRT_DeviceDescription_MemoryDescriptions", args,
             [](PJRT_DeviceDescription_MemoryDescriptions_Args& a) {
               static constexpr std::array<PJRT_MemoryDescription, kMemoryKinds.size()> kAll = {
                   {{0}, {1}, {2}}};
               static constexpr std::array<const PJRT_MemoryDescription*, kAll.size()> kList = {
                   &kAll[0], &kAll[1], &kAll[2]};
               a.memory_descriptions = kList.data();
               a.num_memory_descriptions = kList.size();
               a.default_memory_index = 0;
             });
}

PJRT_Error* memory_description_kind(PJRT_MemoryDescription_Kind_Args* args) {
  return run("PJRT_MemoryDescription_Kind", args, [](PJRT_MemoryDescription_Kind_Args& a) {
    const std::string_view kind = kMemoryKinds[a.memory_description->kind];
    a.kind = kind.data();
    a.kind_size = kind.size();
    a.kind_id = kMemoryKindIds[a.memory_description->kind];
  });
}

constinit PJRT_MemoryDescriptions_Extension memories_extension = {
    .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_MemoryDescriptions,
             .next = &ffi_extension.base},
    .of_device = memory_descriptions,
    .kind = memory_description_kind};

}  // namespace

Layout row_major(int rank) {
  Layout layout;
  for (int axis = rank - 1; axis >= 0; --axis) layout.minor_to_major.push_back(axis);
  return layout;
}

void check_layout(std::string_view function, const Layout& layout, const TensorType& type) {
  std::vector<int64_t> sorted = layout.minor_to_major;
  std::ranges::sort(sorted);
  std::vector<int64_t> axes(static_cast<size_t>(type.shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted == axes) return;
  throw invalid_argument("{}: layout of {}, got {{{}}}, expected each axis once", function, type,
                         fmt::join(layout.minor_to_major, ","));
}

bool is_auto_layout(const hlo::AttributeTexts& attributes) {
  return text_of(attributes, kLayoutMode) == "auto";
}

Layout read_layout(const hlo::AttributeTexts& attributes, const TensorType& type) {
  std::string_view text = text_of(attributes, kLayoutMode);
  if (text.empty() || text == "default" || text == "auto") return row_major(type.shape.rank());
  if (text.find(':') != std::string_view::npos) {
    throw unimplemented("systole plugin: {}, got \"{}\", expected an order of axes, \"{{0,1}}\"",
                        kLayoutMode, text);
  }
  Layout layout;
  text.remove_prefix(1);
  while (!text.empty() && text[0] != '}') {
    int64_t axis = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
    if (error != std::errc()) break;
    layout.minor_to_major.push_back(axis);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  check_layout(kLayoutMode, layout, type);
  return layout;
}

size_t read_memory_kind(const hlo::AttributeTexts& attributes) {
  const std::string_view text = text_of(attributes, "mhlo.memory_kind");
  if (text.empty()) return 0;
  const auto* const found = std::ranges::find(kMemoryKinds, text);
  if (found != kMemoryKinds.end()) return static_cast<size_t>(found - kMemoryKinds.begin());
  throw invalid_argument("systole plugin: mhlo.memory_kind, got \"{}\", expected one of {}", text,
                         fmt::join(kMemoryKinds, ", "));
}

constinit PJRT_Layouts_Extension layouts_extension = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Layouts,
             .next = &memories_extension.base},
    .destroy = destroy_layout,
    .serialize = serialize_layout,
    .client_default = client_default_layout,
    .of_buffer = buffer_layout,
    .topology_default = topology_default_layout,
    .of_outputs = output_layouts,
    .of_parameters = parameter_layouts};

}  // namespace systole::plugin
