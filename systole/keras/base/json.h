// JSON as configurations of layers and models use it: keys keep their order.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace systole::keras {

using Json = nlohmann::ordered_json;

}  // namespace systole::keras
