// NumPy's .npy files (numpy.lib.format), versions 1.0 to 3.0.
#pragma once

#include <string>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"

namespace systole {

// Reads the array of a file in either byte order and either element order (transposes Fortran's).
// '?', signed, unsigned, floating and complex types become their dtype. A void of two bytes becomes
// bf16, as ml_dtypes writes it. 'S' and 'U' become strings without padding zeros, 'U' in UTF-8.
// Errors: those of the file; DATA_LOSS if it ends early; INVALID_ARGUMENT if it is malformed or
// longer than its array; UNIMPLEMENTED for other element types.
Tensor read_npy(const RandomAccessFile& file);
Tensor read_npy(FileSystem& file_system, const std::string& path);

// Writes `tensor` in version 1.0, as numpy.save does; the file appears complete or not at all.
// Writes bf16 as a void of two bytes ('<V2') and strings as 'S'. Errors: those of the file system;
// INVALID_ARGUMENT for a dtype that NumPy does not have (s4, u4: cast first) and for a string that
// ends in a zero byte.
void write_npy(FileSystem& file_system, const std::string& path, const Tensor& tensor);

// Appends the same bytes to a file. `path` is for messages.
void append_npy(WritableFile& file, const std::string& path, const Tensor& tensor);

}  // namespace systole
