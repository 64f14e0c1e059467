#include "systole/tpu_v1/isa/program.h"

#include <algorithm>

#include "systole/base/suggest.h"
#include "systole/tpu_v1/isa/encoding.h"

namespace systole::tpu_v1 {
namespace {

constexpr std::string_view kMagic = "TPUV1PRG";

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// Reads integers and bytes, and refuses to go beyond the end.
class ProgramBytes {
 public:
  ProgramBytes(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - next_) {
      throw make_error(Code::data_loss, "{}: bytes at offset {}, got {}, expected {}", path_, next_,
                       bytes_.size() - next_, size);
    }
    next_ += size;
    return bytes_.substr(next_ - size, size);
  }
  uint64_t integer(int size) {
    const std::string_view bytes = take(static_cast<uint64_t>(size));
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }
  uint32_t u32() { return static_cast<uint32_t>(integer(4)); }
  uint64_t left() const { return bytes_.size() - next_; }

 private:
  std::string_view bytes_;
  const std::string& path_;
  uint64_t next_ = 0;
};

struct ProgramHeader {
  uint32_t instructions = 0;
  uint32_t tiles = 0;
  uint32_t constants = 0;
  uint32_t ports = 0;
};

ProgramHeader read_program_header(ProgramBytes& in, size_t length, const std::string& path,
                                  Program& program) {
  if (length < kMagic.size() || in.take(kMagic.size()) != kMagic) {
    throw invalid_argument("{}: magic, got other bytes, expected '{}': not a TPU v1 program", path,
                           kMagic);
  }
  if (const uint32_t version = in.u32(); version != kProgramVersion) {
    throw invalid_argument("{}: version, got {}, expected {}", path, version, kProgramVersion);
  }
  const uint32_t array = in.u32();
  if (array < kMinArray || array > kMaxArray) {
    throw invalid_argument("{}: array, got {}, expected {} to {}", path, array, kMinArray,
                           kMaxArray);
  }
  program.array = static_cast<int>(array);
  const uint32_t rounding = in.u32();
  if (rounding > 1) throw invalid_argument("{}: rounding, got {}, expected 0 or 1", path, rounding);
  program.rounding = static_cast<Rounding>(rounding);
  const ProgramHeader header{in.u32(), in.u32(), in.u32(), in.u32()};
  if (const uint64_t bytes = in.integer(8); bytes != length) {
    throw make_error(Code::data_loss, "{}: length, got {} bytes, expected {}", path, length, bytes);
  }
  return header;
}

Port read_port(ProgramBytes& in, const std::string& path) {
  Port port;
  const uint64_t output = in.integer(1);
  const uint64_t element = in.integer(1);
  if (output > 1 || element > 2) {
    throw invalid_argument("{}: port, got direction {} and element {}, expected 0 or 1, and 0 to 2",
                           path, output, element);
  }
  port.output = output == 1;
  port.element = static_cast<Element>(element);
  port.name = in.take(in.integer(2));
  port.offset = in.integer(8);
  port.rows = in.u32();
  port.row_bytes = in.u32();
  port.stride = in.u32();
  return port;
}

}  // namespace

const Port& Program::port(std::string_view name) const {
  std::vector<std::string> names;
  for (const Port& port : ports) {
    if (port.name == name) return port;
    names.push_back(port.name);
  }
  throw not_found("program: no port '{}'{}", name, did_you_mean(name, names));
}

std::string write_program(const Program& program) {
  if (program.array < kMinArray || program.array > kMaxArray) {
    throw invalid_argument("program: array, got {}, expected {} to {}", program.array, kMinArray,
                           kMaxArray);
  }
  std::string body;
  int64_t index = 0;
  for (const Instruction& instruction : program.instructions) {
    const InstructionBytes bytes = encode(instruction, index++);
    body.append(bytes.begin(), bytes.end());
  }
  const size_t tile_bytes = static_cast<size_t>(program.array) * static_cast<size_t>(program.array);
  for (const auto& [tile, weights] : program.tiles) {
    if (weights.size() != tile_bytes) {
      throw invalid_argument("program: tile {}, got {} bytes, expected {}", tile, weights.size(),
                             tile_bytes);
    }
    put(body, tile, 4);
    body += weights;
  }
  for (const Constant& constant : program.constants) {
    put(body, constant.offset, 8);
    put(body, constant.bytes.size(), 4);
    body += constant.bytes;
  }
  for (const Port& port : program.ports) {
    if (port.name.size() > 0xffff) {
      throw invalid_argument("program: name of a port, got {} bytes, expected at most 65535",
                             port.name.size());
    }
    put(body, port.output ? 1 : 0, 1);
    put(body, static_cast<uint64_t>(port.element), 1);
    put(body, port.name.size(), 2);
    body += port.name;
    put(body, port.offset, 8);
    for (const uint32_t value : {port.rows, port.row_bytes, port.stride}) put(body, value, 4);
  }
  std::string out(kMagic);
  for (const size_t value :
       {size_t{kProgramVersion}, static_cast<size_t>(program.array),
        static_cast<size_t>(program.rounding), program.instructions.size(), program.tiles.size(),
        program.constants.size(), program.ports.size()}) {
    put(out, value, 4);
  }
  put(out, out.size() + 8 + body.size(), 8);
  return out + body;
}

Program read_program(std::string_view bytes, const std::string& path) {
  ProgramBytes in(bytes, path);
  Program program;
  const ProgramHeader header = read_program_header(in, bytes.size(), path, program);
  for (uint32_t i = 0; i < header.instructions; ++i) {
    const std::string_view word = in.take(kInstructionBytes);
    InstructionBytes copy{};
    std::copy(word.begin(), word.end(), copy.begin());
    try {
      program.instructions.push_back(decode(copy, i));
    } catch (const Error& error) {
      throw make_error(error.code(), "{}: {}", path, error.message());
    }
  }
  const uint64_t tile_bytes =
      static_cast<uint64_t>(program.array) * static_cast<uint64_t>(program.array);
  for (uint32_t i = 0; i < header.tiles; ++i) {
    const uint32_t tile = in.u32();
    if (!program.tiles.emplace(tile, in.take(tile_bytes)).second) {
      throw invalid_argument("{}: tile {}, got two, expected one", path, tile);
    }
  }
  for (uint32_t i = 0; i < header.constants; ++i) {
    const uint64_t offset = in.integer(8);
    program.constants.push_back({offset, std::string(in.take(in.u32()))});
  }
  for (uint32_t i = 0; i < header.ports; ++i) program.ports.push_back(read_port(in, path));
  if (in.left() != 0)
    throw invalid_argument("{}: end, got {} more bytes, expected none", path, in.left());
  return program;
}

void save_program(FileSystem& file_system, const std::string& path, const Program& program) {
  write_file_atomically(file_system, path, write_program(program));
}

Program load_program(FileSystem& file_system, const std::string& path) {
  return read_program(read_file(file_system, path), path);
}

}  // namespace systole::tpu_v1
