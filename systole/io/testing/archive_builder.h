// Archives made in memory, for tests of what reads them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::testing {

// Names and contents.
using ArchiveFiles = std::vector<std::pair<std::string, std::string>>;

// A ustar archive.
std::string tar_of(const ArchiveFiles& files);
std::string gzip_of(const std::string& bytes);
// A zip archive, stored or deflated.
std::string zip_of(const ArchiveFiles& files, bool deflate = true);

// The .npy file of an array.
std::string npy_of(const Tensor& array);
// The .npy file that numpy.save writes for a one-dimensional array of lists of integers.
std::string npy_of_lists(const std::vector<std::vector<int32_t>>& lists);

}  // namespace systole::testing
