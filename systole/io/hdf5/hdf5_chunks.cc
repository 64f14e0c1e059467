// Arrays in chunks: a B-tree of pieces, each of which may be compressed.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "systole/io/hdf5/hdf5_format.h"

namespace systole::hdf5 {
namespace {

struct Chunk {
  std::vector<uint64_t> offset;  // of its first element
  std::string_view bytes;        // as stored
  uint32_t skipped_filters = 0;  // a bit for each
};

// Lists the chunks. Their bytes do not overlap, which bounds the walk by the file's size.
class ChunkLister {
 public:
  ChunkLister(const Image& image, size_t rank) : image_(image), rank_(rank) {}

  std::vector<Chunk> list(uint64_t tree) {
    visit(tree, -1);
    return std::move(chunks_);
  }

 private:
  void visit(uint64_t address, int expected_level) {
    Cursor cursor(image_, address, 24, "a B-tree of chunks");
    cursor.expect("TREE");
    const uint64_t type = cursor.number(1);
    const int level = static_cast<int>(cursor.number(1));
    const uint64_t entries = cursor.number(2);
    if (type != 1 || (expected_level >= 0 && level != expected_level)) {
      throw cursor.damaged("a node of another kind or level");
    }
    const uint64_t key = 8 + 8 * (rank_ + 1);
    spend(address, 24);
    Cursor keys(image_, address + 24, (key + 8) * entries, "a B-tree of chunks");
    for (uint64_t i = 0; i < entries; ++i) {
      Chunk chunk;
      const uint64_t size = keys.number(4);
      chunk.skipped_filters = static_cast<uint32_t>(keys.number(4));
      for (size_t axis = 0; axis < rank_; ++axis) chunk.offset.push_back(keys.number(8));
      keys.skip(8);
      const uint64_t child = keys.address();
      if (level > 0) {
        visit(child, level - 1);
        continue;
      }
      spend(child, size + 1);
      chunk.bytes = image_.range(child, size, "a chunk");
      chunks_.push_back(std::move(chunk));
    }
  }

  void spend(uint64_t address, uint64_t bytes) {
    spent_ += bytes;
    if (spent_ > image_.bytes.size()) throw image_.damaged(address, "chunks larger than the file");
  }

  const Image& image_;
  size_t rank_;
  std::vector<Chunk> chunks_;
  uint64_t spent_ = 0;
};

// An array of chunks while it is read.
class ChunkedArray {
 public:
  ChunkedArray(const Image& image, const std::string& what, const Object& array)
      : image_(image), what_(what), array_(array), chunk_(array.layout->chunk) {}

  std::string read() {
    const size_t rank = chunk_.size();
    if (rank == 0 || rank != static_cast<size_t>(array_.space->shape.rank())) {
      throw damaged("chunks with another number of axes");
    }
    uint64_t grid = 1;
    chunk_bytes_ = array_.type->size;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (chunk_[axis] == 0) throw damaged("chunks without elements");
      grid *= (size(axis) + chunk_[axis] - 1) / chunk_[axis];
      if (__builtin_mul_overflow(chunk_bytes_, chunk_[axis], &chunk_bytes_)) {
        throw damaged("chunks larger than memory");
      }
    }
    if (array_.space->elements == 0) return "";
    const std::vector<Chunk> chunks = ChunkLister(image_, rank).list(array_.layout->address);
    if (chunks.size() != grid) {
      throw damaged(
          fmt::format("{} chunks, expected {}: some were not written", chunks.size(), grid));
    }
    for (const Chunk& chunk : chunks) {
      if (chunk_bytes_ > kMaxInflation * chunk.bytes.size() + 64) {
        throw damaged("a chunk that holds more bytes than it can");
      }
    }
    // All chunks are there, so the array is no larger than they are.
    std::string bytes(array_.space->elements * array_.type->size, '\0');
    for (const Chunk& chunk : chunks) copy(decoded(chunk), chunk, bytes);
    return bytes;
  }

 private:
  uint64_t size(size_t axis) const {
    return static_cast<uint64_t>(array_.space->shape[static_cast<int>(axis)]);
  }

  Error damaged(std::string_view problem) const {
    return make_error(Code::data_loss, "{}: {}: damaged HDF5 file: {}", image_.name, what_,
                      problem);
  }

  // Undoes the filters, the last first.
  std::string decoded(const Chunk& chunk) const {
    std::string bytes(chunk.bytes);
    for (size_t i = array_.filters.size(); i-- > 0;) {
      if (i < 32 && (chunk.skipped_filters >> i & 1U) != 0) continue;
      switch (array_.filters[i].id) {
        case Filter::deflate:
          bytes = inflated(bytes, chunk_bytes_ + 4 * checksums_before(i));
          break;
        case Filter::shuffle:
          bytes = unshuffled(bytes);
          break;
        case Filter::fletcher32:
          if (bytes.size() < 4) throw damaged("a chunk without its checksum");
          bytes.resize(bytes.size() - 4);
          break;
        default:
          throw unimplemented("{}: {}: filter {}, expected deflate, shuffle or fletcher32",
                              image_.name, what_, array_.filters[i].id);
      }
    }
    if (bytes.size() != chunk_bytes_) throw damaged("a chunk of another size");
    return bytes;
  }

  uint64_t checksums_before(size_t filter) const {
    const auto end = array_.filters.begin() + static_cast<std::ptrdiff_t>(filter);
    return static_cast<uint64_t>(std::count_if(
        array_.filters.begin(), end, [](const Filter& f) { return f.id == Filter::fletcher32; }));
  }

  std::string inflated(const std::string& bytes, uint64_t expected) const {
    std::string out(expected, '\0');
    uLongf size = expected;
    const int status = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                    reinterpret_cast<const Bytef*>(bytes.data()),
                                    static_cast<uLong>(bytes.size()));
    if (status != Z_OK || size != expected) throw damaged("a chunk that does not decompress");
    return out;
  }

  // From all first bytes, then all second bytes...
  std::string unshuffled(const std::string& bytes) const {
    const uint64_t width = array_.type->size;
    const uint64_t elements = bytes.size() / width;
    std::string out = bytes;
    for (uint64_t e = 0; e < elements; ++e) {
      for (uint64_t b = 0; b < width; ++b) out[e * width + b] = bytes[b * elements + e];
    }
    return out;
  }

  // Copies the rows of a chunk that lie in the array.
  void copy(const std::string& from, const Chunk& chunk, std::string& to) const {
    const size_t rank = chunk_.size();
    const uint64_t width = array_.type->size;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (chunk.offset[axis] >= size(axis)) throw damaged("a chunk outside the array");
    }
    const uint64_t row =
        std::min(chunk_[rank - 1], size(rank - 1) - chunk.offset[rank - 1]) * width;
    std::vector<uint64_t> index(rank, 0);
    for (;;) {
      uint64_t source = 0;
      uint64_t target = 0;
      for (size_t axis = 0; axis < rank; ++axis) {
        source = source * chunk_[axis] + index[axis];
        target = target * size(axis) + chunk.offset[axis] + index[axis];
      }
      std::memcpy(to.data() + target * width, from.data() + source * width, row);
      size_t axis = rank - 1;
      while (axis > 0) {
        --axis;
        if (++index[axis] < chunk_[axis] && chunk.offset[axis] + index[axis] < size(axis)) break;
        index[axis] = 0;
        if (axis == 0) return;
      }
      if (rank == 1) return;
    }
  }

  const Image& image_;
  const std::string& what_;
  const Object& array_;
  const std::vector<uint64_t>& chunk_;
  uint64_t chunk_bytes_ = 0;
};

}  // namespace

std::string read_chunks(const Image& image, const std::string& what, const Object& array) {
  return ChunkedArray(image, what, array).read();
}

}  // namespace systole::hdf5
