// Serialized programs, as they stand and inside a valid seal. One that is read must be written to
// bytes that are read to the same.
#include "systole/runtime/serialized_program.h"
#include "tests/fuzz/input.h"

namespace {

using namespace systole;

void read(std::string_view bytes) {
  fuzz::may_refuse([&] {
    const runtime::ProgramSource source = runtime::read_program("fuzz", bytes);
    const std::string written = runtime::write_program("fuzz", *source.module, source.options);
    const runtime::ProgramSource again = runtime::read_program("fuzz", written);
    if (runtime::write_program("fuzz", *again.module, again.options) != written) __builtin_trap();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  read(bytes);
  constexpr std::string_view kKind = "systole-program-1";
  // Seeds are written by write_program(); what is behind their seal is what mutations reach.
  const size_t newline = bytes.find('\n');
  const bool sealed = bytes.starts_with(kKind) && newline != std::string_view::npos;
  read(runtime::seal(kKind, sealed ? bytes.substr(newline + 1) : bytes));
  return 0;
}
