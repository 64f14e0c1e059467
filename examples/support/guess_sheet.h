// Draws digits with the predictions of a network.
#pragma once

#include <cstdint>

#include "systole/base/tensor.h"

namespace examples {

// images: u8[n,28,28]; labels, guesses: s32[n] from 0 to 9. The guess stands beside each digit:
// green, or red in a red frame where it is wrong. u8[height,width,3], `columns` digits a row.
systole::Tensor guess_sheet(const systole::Tensor& images, const systole::Tensor& labels,
                            const systole::Tensor& guesses, int64_t columns);

}  // namespace examples
