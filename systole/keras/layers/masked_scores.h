// What the layers of attention.h share.
#pragma once

#include <string_view>

#include "systole/graph/core/graph.h"

namespace systole::keras::layers {

// Scores, with 1e9 less (in f16 the least number) where `seen`, pred, broadcast, is false: so much
// less that the softmax of a row that has others gives them nothing. `scores` where seen is
// invalid.
Output masked_scores(const Output& scores, const Output& seen);

// Where both masks hold; the other one where one is invalid.
Output both(const Output& a, const Output& b);

// Errors: INVALID_ARGUMENT for a rate out of [0, 1).
void check_dropout(std::string_view layer, double rate);

}  // namespace systole::keras::layers
