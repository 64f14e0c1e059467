// Programs of one feature each, with what libtpu said of them for a v2-8: whether ours is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_check/program_check.h"

namespace systole::tpu_check {
namespace {

struct Probe {
  std::string name;
  std::string verdict;  // libtpu's: fits, too_big, refused, crashed
  std::string program;
};

// Returns the programs that JAX lowers, by name.
std::map<std::string, std::string> read_archive() {
  std::map<std::string, std::string> programs;
  ArchiveReader archive(default_file_system(), "tests/libtpu/jax_probes.tar.xz");
  while (archive.next())
    programs[archive.name().substr(0, archive.name().rfind('.'))] = archive.read();
  return programs;
}

// "// ==== name verdict" before each program; without a program it is one of the archive.
std::vector<Probe> read_probes() {
  const std::map<std::string, std::string> archived = read_archive();
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
    if (probes.back().program.empty()) probes.back().program = archived.at(probes.back().name);
    at = next;
  }
  return probes;
}

TEST(ProbeVerdicts, are_those_of_libtpu) {
  const std::vector<Probe> probes = read_probes();
  EXPECT_GE(probes.size(), 247U);
  for (const Probe& probe : probes) {
    const ProgramReport report = check_program(probe.program, probe.name + ".mlir", {"v2-8"});
    const bool takes = probe.verdict == "fits";
    EXPECT_EQ(report.ok(), takes) << probe.name << ", " << probe.verdict << "\n"
                                  << report.to_string();
  }
}

}  // namespace
}  // namespace systole::tpu_check
