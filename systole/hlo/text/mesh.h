// Shardy's meshes, which name the devices that shardings speak of. No value depends on them: a
// module keeps each as the text of an attribute, so that those of functions still mean something
// when it is printed.
#pragma once

#include <string>
#include <string_view>

namespace systole::hlo::text {

inline constexpr std::string_view kMesh = "sdy.mesh";
// What the name of such an attribute begins with; the mesh's follows. Attributes of a text whose
// quoted names begin so are refused.
inline constexpr std::string_view kMeshAttribute = "sdy.mesh @";

}  // namespace systole::hlo::text
