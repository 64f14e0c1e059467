#include "plugin/shardings.h"

#include <map>

#include "plugin/error.h"
#include "plugin/layouts.h"
#include "plugin/objects.h"
#include "systole/pjrt_abi/op_sharding.h"

namespace systole::plugin {
void Shardings::set(std::vector<std::string> texts) {
  texts_ = std::move(texts);
  pointers_.clear();
  sizes_.clear();
  for (const std::string& text : texts_) {
    pointers_.push_back(text.data());
    sizes_.push_back(text.size());
  }
}

std::string encode_sharding(const hlo::Sharding& sharding, int num_devices) {
  pjrt_abi::OpSharding message;
  if (sharding.mesh.is_maximal()) {
    message.devices = sharding.mesh.device_ids;
    message.one_device = true;
    return encode(message);
  }
  std::map<std::vector<int64_t>, std::vector<int64_t>> by_part;
  for (int64_t device = 0; device < num_devices; ++device) {
    by_part[sharding.shard_of(device)].push_back(device);
  }
  for (const auto& [part, devices] : by_part) {
    message.devices.insert(message.devices.end(), devices.begin(), devices.end());
  }
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    message.tiles.push_back(sharding.num_shards(static_cast<int>(dim)));
  }
  // XLA's message has no place for copies of terms.
  int64_t parts = 1;
  for (const int64_t tile : message.tiles) parts *= tile;
  int64_t terms = 1;
  for (const hlo::AxisRef& axis : sharding.unreduced) {
    const hlo::MeshAxis* const whole = sharding.mesh.find(axis.name);
    terms *= axis.size > 0 ? axis.size : (whole == nullptr ? 1 : whole->size);
  }
  message.unreduced = terms > 1 && parts * terms == num_devices;
  return encode(message);
}

namespace {

PJRT_Error* parameter_shardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args) {
  return run("PJRT_Shardings_PJRT_Executable_ParameterShardings", args,
             [](PJRT_Shardings_PJRT_Executable_ParameterShardings_Args& a) {
               const Program& program = *a.executable->program;
               a.num_parameters = program.parameters.size();
               a.shardings = program.parameter_shardings.data();
               a.sharding_sizes = program.parameter_shardings.sizes();
             });
}

PJRT_Error* output_shardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args) {
  return run("PJRT_Shardings_PJRT_Executable_OutputShardings", args,
             [](PJRT_Shardings_PJRT_Executable_OutputShardings_Args& a) {
               const Program& program = *a.executable->program;
               a.num_outputs = program.results.size();
               a.shardings = program.result_shardings.data();
               a.sharding_sizes = program.result_shardings.sizes();
             });
}

}  // namespace

constinit PJRT_Shardings_Extension shardings_extension = {
    .base = {.struct_size = PJRT_Shardings_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Shardings,
             .next = &layouts_extension.base},
    .parameter_shardings = parameter_shardings,
    .output_shardings = output_shardings};

}  // namespace systole::plugin
