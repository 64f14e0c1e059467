// Shardings as the API passes them.
#pragma once

#include <string>

#include "systole/hlo/ir/sharding.h"
#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::plugin {

// Returns a sharding over `num_devices` devices as a serialised xla.OpSharding.
std::string encode_sharding(const hlo::Sharding& sharding, int num_devices);

extern PJRT_Shardings_Extension shardings_extension;

}  // namespace systole::plugin
