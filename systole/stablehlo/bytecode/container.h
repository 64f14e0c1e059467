// The sections of a bytecode file, without the contents of attributes, types and ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "systole/stablehlo/bytecode/byte_reader.h"

namespace systole::hlo::bytecode {

// StableHLO's versions are those of VHLO: major.minor.patch.
struct VhloVersion {
  int64_t major = 0;
  int64_t minor = 0;
  int64_t patch = 0;

  std::string to_string() const;
  friend auto operator<=>(const VhloVersion&,
                          const VhloVersion&) = default;  // NOLINT(modernize-use-nullptr)
};

inline constexpr VhloVersion kOldestVhlo{0, 9, 0};
inline constexpr VhloVersion kNewestVhlo{1, 20, 0};

// Parses "1.20.0". `what` begins the message of errors. Errors: INVALID_ARGUMENT.
VhloVersion parse_vhlo_version(std::string_view text, std::string_view what);
// Returns the version of the container that files of a VHLO version have.
uint64_t format_of(const VhloVersion& version);

struct OpName {
  std::string_view dialect;
  std::string_view name;    // without the dialect
  bool registered = false;  // the writer knew the op, so properties have the op's own encoding
};

// An attribute or a type.
struct Entry {
  std::string_view dialect;
  bool custom = false;  // the dialect's encoding; else MLIR text
  std::string_view bytes;
  size_t offset = 0;
};

// Views of the file's bytes, which must outlive it.
struct Container {
  std::string file;
  uint64_t format = 0;
  std::string_view producer;  // "StableHLO_v1.20.0", "MLIR19.1.7"
  std::vector<std::string_view> strings;
  std::vector<OpName> op_names;
  std::vector<Entry> attributes;
  std::vector<Entry> types;
  std::vector<Entry> properties;  // only `bytes` and `offset`
  std::string_view ir;
  size_t ir_offset = 0;
};

// Reads the sections. Errors: INVALID_ARGUMENT with the file and the offset; UNIMPLEMENTED for
// versions of the container or of VHLO after the latest known, and for files with resources.
Container read_container(std::string_view bytes, std::string_view file);

}  // namespace systole::hlo::bytecode
