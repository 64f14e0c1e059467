// Files read from begin to end and written in the same way, compressed or not: what TFRecord, text
// and fixed-length record files have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole {

enum class Compression { none, zlib, gzip };

// TensorFlow's names: "", "ZLIB", "GZIP". Errors: INVALID_ARGUMENT for another one.
Compression compression_from_tf(std::string_view name);
std::string_view tf_name(Compression compression);
// What the first bytes of a file tell: gzip has a mark of its own; a zlib stream is told by its two
// header bytes, which few other files begin with.
Compression sniff_compression(const RandomAccessFile& file);

// The bytes of a file, uncompressed, from the begin on. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads up to `size` bytes: fewer only at the end of the stream, where a later call may find what
  // was appended to the file since (when it is not compressed), and before an error, which the next
  // call throws. Errors: those of the file; DATA_LOSS, with the offset in the file, when a
  // compressed stream is cut or broken.
  virtual size_t read(size_t size, void* out) = 0;
  // Makes `offset`, counted in uncompressed bytes, the next to be read. In a compressed file all
  // bytes before it are decompressed, from the begin when it lies behind. Errors: those of read;
  // OUT_OF_RANGE when the stream ends before.
  virtual void seek(uint64_t offset) = 0;
  // Bytes left, when that is known without reading them.
  virtual std::optional<uint64_t> left() const = 0;
  virtual const std::string& path() const = 0;
};

// Several gzip streams one behind the other are one, as gzip has it. `buffer_bytes` are read from a
// compressed file at a time.
std::unique_ptr<ByteSource> open_source(std::unique_ptr<RandomAccessFile> file,
                                        Compression compression, size_t buffer_bytes = 256U << 10U);

// Compresses what is appended into `below`, which outlives it and which the caller closes: close()
// ends the compressed stream and flushes `below`, no more. flush() makes all that was appended
// readable, at some cost in size. `level` is zlib's: 0 to 9, or -1 for its default. `path` is for
// messages. With Compression::none it passes everything on.
std::unique_ptr<WritableFile> compress_into(WritableFile& below, Compression compression,
                                            std::string path, int level = -1);

}  // namespace systole
