// Draws digits with the predictions of a network.
#pragma once

#include <cstdint>

#include "systole/base/tensor.h"

namespace examples {

// images: u8[n,28,28]; labels, guesses: s32[n] from 0 to 9. Returns u8[height,width,3] with
// `columns` digits in a row. Each digit has its guess beside it: green if right, red in a red frame
// if wrong.
systole::Tensor guess_sheet(const systole::Tensor& images, const systole::Tensor& labels,
                            const systole::Tensor& guesses, int64_t columns);

}  // namespace examples
