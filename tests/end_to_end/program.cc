#include "tests/end_to_end/program.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

namespace systole::testing {

ProgramResult run_program(const std::string& command_line) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string command = "( '" + folder.string() + "'/" + command_line + " ) 2>&1";
  ProgramResult result;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::array<char, 4096> chunk{};
  while (const size_t n = fread(chunk.data(), 1, chunk.size(), pipe))
    result.output.append(chunk.data(), n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace systole::testing
