// Numpy's .npy files (numpy.lib.format), versions 1.0 to 3.0.
#pragma once

#include <string>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"

namespace systole {

// Reads the one array of a file. Either byte order and either element order (Fortran's is
// transposed) are taken.
// '?', signed, unsigned, floating and complex types give their dtype; a void of two bytes gives
// bf16, as ml_dtypes writes it; 'S' and 'U' give strings, the latter in UTF-8, without the zeros
// that pad them. Errors: those of the file; DATA_LOSS when it ends early; INVALID_ARGUMENT when it
// is malformed or longer than its array; UNIMPLEMENTED for other element types.
Tensor read_npy(const RandomAccessFile& file);
Tensor read_npy(FileSystem& file_system, const std::string& path);

// Writes `tensor` in version 1.0, as numpy.save does; the file appears complete or not at all. bf16
// is written as a void of two bytes ('<V2'), strings as 'S'. Errors: those of the file system;
// INVALID_ARGUMENT for a dtype that numpy does not have (s4, u4: cast first) and for a string that
// ends in a zero byte.
void write_npy(FileSystem& file_system, const std::string& path, const Tensor& tensor);

// The same bytes appended to a file, whose name is `path` in messages.
void append_npy(WritableFile& file, const std::string& path, const Tensor& tensor);

}  // namespace systole
