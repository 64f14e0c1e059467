// The ends of axes that layers pad or crop. Not for users.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "systole/keras/layers/padding.h"
#include "systole/keras/layers/spatial.h"

namespace systole::keras::layers {

// A pair for each of `rank` axes. Errors: INVALID_ARGUMENT for another number of axes, and numbers
// below 0.
void normalize_edges(std::string_view layer, std::string_view argument, Edges& edges, int rank);
// "((1, 1), (2, 2))"
std::string edges_text(const Edges& edges);
// normalize_data_format() for layers that have none for one axis. Errors: INVALID_ARGUMENT where
// such a layer is given one but "channels_last".
void normalize_image_format(std::string_view layer, std::optional<std::string>& data_format,
                            int rank);

}  // namespace systole::keras::layers
