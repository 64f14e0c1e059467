// Builds HDF5 files in memory, with the structures that h5py writes by default: superblock 0,
// groups as symbol tables, contiguous arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

// A file under construction. Parents of what is added are made. Not thread-safe; several writers
// may be used on different threads (the library is entered by one at a time). Errors name the file
// and the object: ALREADY_EXISTS with h5py's words; INVALID_ARGUMENT for a dtype without an HDF5
// type; INTERNAL for other failures of the library.
class Hdf5Writer {
 public:
  // `name` stands for the file in errors.
  explicit Hdf5Writer(std::string name);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  // Makes a group; nothing happens when it is there.
  void add_group(std::string_view path);
  // Adds an array of numbers.
  void add_array(std::string_view path, const Tensor& values);
  // Sets an attribute to a scalar string of variable length, in ASCII where it can be.
  void set_string(std::string_view object, std::string_view name, std::string_view text);
  // Sets an attribute to a list of strings, null-padded to the longest. An empty list is a list of
  // no f64 numbers, as h5py writes it. Errors: INVALID_ARGUMENT for more than kMaxAttributeBytes.
  void set_strings(std::string_view object, std::string_view name,
                   std::span<const std::string> texts);
  // Ends the file and returns its bytes, with a checksum behind the end that HDF5 knows
  // (io/wire/checksum_trailer.h). No other call may follow.
  std::string finish();

  // An attribute's greatest size, which leaves room for its header in the 64 KiB of an object's.
  static constexpr size_t kMaxAttributeBytes = 64512;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace systole
