// Programs of one feature each, with what libtpu said of them for a v2-8: whether ours is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_check/program_check.h"

namespace systole::tpu_check {
namespace {

struct Probe {
  std::string name;
  std::string verdict;  // libtpu's: fits, too_big, refused, crashed
  std::string program;
};

// "// ==== name verdict" before each program.
std::vector<Probe> read_probes() {
  constexpr std::string_view kHead = "// ==== ";
  const std::string text = read_file(default_file_system(), "tests/libtpu/probes.txt");
  std::vector<Probe> probes;
  for (size_t at = text.find(kHead); at != std::string::npos;) {
    const size_t line = text.find('\n', at);
    const size_t next = text.find(kHead, line);
    const std::string head = text.substr(at + kHead.size(), line - at - kHead.size());
    const size_t space = head.find(' ');
    probes.push_back({.name = head.substr(0, space),
                      .verdict = head.substr(space + 1),
                      .program = text.substr(line + 1, next - line - 1)});
    at = next;
  }
  return probes;
}

// Where ours differs, and why.
const std::map<std::string, std::string>& known_differences() {
  static const std::map<std::string, std::string> known = {};
  return known;
}

TEST(ProbeVerdicts, are_those_of_libtpu) {
  const std::vector<Probe> probes = read_probes();
  EXPECT_GT(probes.size(), 200U);
  for (const Probe& probe : probes) {
    const ProgramReport report = check_program(probe.program, probe.name + ".mlir", {"v2-8"});
    const bool takes = probe.verdict == "fits";
    if (known_differences().contains(probe.name)) {
      EXPECT_NE(report.ok(), takes) << probe.name << " no longer differs";
      continue;
    }
    EXPECT_EQ(report.ok(), takes) << probe.name << ", " << probe.verdict << "\n"
                                  << report.to_string();
  }
}

}  // namespace
}  // namespace systole::tpu_check
