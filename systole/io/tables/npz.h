// NumPy's .npz files (numpy.savez): zip archives of .npy files, stored or deflated.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"

namespace systole {

// The arrays of a file, by name. Holds the bytes of all of them. Thread-safe.
class NpzFile {
 public:
  // Errors: those of the file; INVALID_ARGUMENT for a file that is no zip archive; DATA_LOSS for
  // one that is truncated or damaged.
  NpzFile(FileSystem& file_system, const std::string& path);

  std::vector<std::string> names() const;
  // Errors: NOT_FOUND with the names there are; those of read_npy().
  Tensor array(const std::string& name) const;
  // A one-dimensional array of Python lists of integers, or the rows of a two-dimensional array of
  // integers. Errors: as array(); INVALID_ARGUMENT for other arrays; UNIMPLEMENTED for pickles with
  // more than plain values and NumPy arrays.
  std::vector<std::vector<int32_t>> int_lists(const std::string& name) const;

 private:
  const std::string& member(const std::string& name) const;

  std::string path_;
  std::map<std::string, std::string> members_;
};

}  // namespace systole
