#include "plugin/shardings.h"

#include <algorithm>
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

namespace {

// The sharding of an axis that has an element for each term of the sum, in the mesh's order.
hlo::Sharding sharding_of_terms(const hlo::Sharding& sharding) {
  hlo::Sharding result{.mesh = sharding.mesh, .dims = {{.axes = sharding.unreduced}}};
  std::ranges::sort(result.dims[0].axes, {}, [&](const hlo::AxisRef& axis) {
    const auto place = std::ranges::find(sharding.mesh.axes, axis.name, &hlo::MeshAxis::name);
    return std::pair(place - sharding.mesh.axes.begin(), axis.pre_size);
  });
  return result;
}

}  // namespace

std::string encode_sharding(const hlo::Sharding& sharding, int num_devices) {
  pjrt_abi::OpSharding message;
  if (sharding.mesh.is_maximal()) {
    message.devices = sharding.mesh.device_ids;
    message.one_device = true;
    return encode(message);
  }
  // By part, then by term: the devices that have it.
  std::map<std::vector<int64_t>, std::map<int64_t, std::vector<int64_t>>> devices;
  const hlo::Sharding terms = sharding_of_terms(sharding);
  for (int64_t device = 0; device < num_devices; ++device) {
    devices[sharding.shard_of(device)][terms.shard_of(device)[0]].push_back(device);
  }
  message.terms = terms.num_shards(0);
  for (const auto& [part, by_term] : devices) {
    for (size_t copy = 0; copy < by_term.begin()->second.size(); ++copy) {
      for (const auto& [term, copies] : by_term) message.devices.push_back(copies[copy]);
    }
  }
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    message.tiles.push_back(sharding.num_shards(static_cast<int>(dim)));
  }
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
