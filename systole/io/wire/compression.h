// Sequential reading and writing of files, compressed or not: the base of TFRecord, text and
// fixed-length record files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole {

enum class Compression { none, zlib, gzip };

// Converts TensorFlow's names: "", "ZLIB", "GZIP". Errors: INVALID_ARGUMENT for another name.
Compression compression_from_tf(std::string_view name);
std::string_view tf_name(Compression compression);
// Detects the compression from the first bytes: gzip by its magic number, zlib by its two header
// bytes, with which few other files start.
Compression sniff_compression(const RandomAccessFile& file);

// The uncompressed bytes of a file, in order. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads up to `size` bytes. Returns fewer only at the end of the stream, where a later call finds
  // bytes appended since (if uncompressed), and before an error, which the next call throws.
  // Errors: those of the file; DATA_LOSS, with the offset in the file, for a truncated or damaged
  // compressed stream.
  virtual size_t read(size_t size, void* out) = 0;
  // Continues at `offset` in uncompressed bytes. In a compressed file, decompresses all bytes
  // before it, from the start to go back. Errors: those of read; OUT_OF_RANGE if the stream ends
  // before it.
  virtual void seek(uint64_t offset) = 0;
  // Returns the number of bytes left, if known without reading them.
  virtual std::optional<uint64_t> left() const = 0;
  virtual const std::string& path() const = 0;
};

// Concatenated gzip streams are one stream, as in gzip. Reads `buffer_bytes` of a compressed file
// at a time.
std::unique_ptr<ByteSource> open_source(std::unique_ptr<RandomAccessFile> file,
                                        Compression compression, size_t buffer_bytes = 256U << 10U);

// Compresses what is appended into `below`, which must outlive it and which the caller closes:
// close() ends the compressed stream and flushes `below`. flush() makes everything appended
// readable, at some cost in size. `level` is zlib's: 0 to 9, or -1 for its default. `path` is for
// messages. Compression::none passes the bytes through.
std::unique_ptr<WritableFile> compress_into(WritableFile& below, Compression compression,
                                            std::string path, int level = -1);

}  // namespace systole
