// The loops of replicas that run one after another.
#pragma once

#include <string_view>

namespace systole::hlo::replicas {

// Metadata::name of such a loop. Passes must not stack what its iterations compute: that they share
// the memory is its purpose.
inline constexpr std::string_view kLoopOfReplicas = "replicas in turn";

}  // namespace systole::hlo::replicas
