// Files that others wrote: programs of jax.export and StableHLO's artifacts of two versions
// (jax_export and stablehlo in tests/golden), StableHLO's own artifacts of every version
// (../shared/golden/vhlo), and more programs of jax.export (../shared/golden/jax_export).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kFolder = "../shared/golden/vhlo";
constexpr const char* kOwnFolder = "tests/golden";

std::string read_binary(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files of all versions by "0_9_0", without the one from the future.
std::map<std::string, std::string> artifacts() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    const size_t dot = name.find('.');
    if (!name.starts_with("stablehlo_legalize_to_vhlo.")) continue;
    files[name.substr(dot + 1, name.find('.', dot + 1) - dot - 1)] = read_binary(entry.path());
  }
  return files;
}

// The functions of a program's text by name.
std::map<std::string, std::string> split_functions(const std::string& text) {
  std::map<std::string, std::string> functions;
  constexpr std::string_view kBegin = "\n\"func.func\"() ({";
  for (size_t begin = text.find(kBegin); begin != std::string::npos;) {
    const size_t end = text.find(kBegin, begin + 1);
    std::string function =
        text.substr(begin, end == std::string::npos ? text.rfind("\n})") - begin : end - begin);
    const size_t name = function.rfind("sym_name = \"") + 12;
    functions[function.substr(name, function.find('"', name) - name)] = function;
    begin = end;
  }
  return functions;
}

// A program of a function and of those that it names.
std::string program_of(const std::string& name,
                       const std::map<std::string, std::string>& functions) {
  std::set<std::string> needed;
  std::vector<std::string> open = {name};
  std::string text;
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    const auto found = functions.find(next);
    if (found == functions.end() || !needed.insert(next).second) continue;
    text += found->second;
    for (size_t at = 0; (at = found->second.find('@', at)) != std::string::npos;) {
      const size_t end = found->second.find_first_of(",]} :", ++at);
      open.push_back(found->second.substr(at, end - at));
    }
  }
  return text;
}

// Functions of StableHLO's files that its verifier would refuse, because the files are converted
// and never run; those with memref types, which no program of a device has; and the one that names
// a mesh of its file's module, which a function alone lacks.
bool is_invalid(std::string_view name) {
  constexpr std::string_view kNames[] = {"attr_comparison_type_signed",
                                         "attr_comparison_type_unsigned",
                                         "attr_replica_group_mesh_axes",
                                         "attr_rng_algorithm_default",
                                         "attr_rng_algorithm_philox",
                                         "attr_rng_algorithm_three_fry",
                                         "default_all_gather",
                                         "default_all_gather_variadic",
                                         "op_all_gather",
                                         "op_custom_call",
                                         "op_rng_bit_generator",
                                         "type_buffer_function_input_output",
                                         "type_buffer_special_custom_calls"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Functions that the files of later versions have with other ops.
bool has_changed(std::string_view name) {
  return name == "default_send" || name == "byte_packed_boolean";
}

class VhloGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "the folder " << kFolder << " is absent";
  }
};

// All ops become StableHLO. Modules lack dynamic shapes and small floats, which are refused by
// name.
TEST_F(VhloGolden, AllVersionsAreRead) {
  const auto files = artifacts();
  ASSERT_EQ(files.size(), 19U);
  for (const auto& [version, bytes] : files) {
    SCOPED_TRACE(version);
    const std::string text = bytecode_to_text(bytes, version);
    EXPECT_EQ(text.find("vhlo"), std::string::npos);
    const auto functions = split_functions(text);
    EXPECT_GT(functions.size(), 150U);
    size_t valid = 0;
    for (const auto& [name, function] : functions) {
      try {
        verify(*parse(program_of(name, functions), name));
        ++valid;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), is_invalid(name) ? Code::invalid_argument : Code::unimplemented)
            << error.what() << function;
      }
    }
    EXPECT_GT(valid, 100U);
  }
}

// An op of an old version means what it means in the newest.
TEST_F(VhloGolden, OldVersionsEqualTheNewest) {
  const auto files = artifacts();
  const auto newest = split_functions(bytecode_to_text(files.at("1_20_0"), "newest"));
  for (const auto& [version, bytes] : files) {
    SCOPED_TRACE(version);
    const auto functions = split_functions(bytecode_to_text(bytes, version));
    size_t equal = 0;
    for (const auto& [name, function] : functions) {
      const auto found = newest.find(name);
      if (found == newest.end() || has_changed(name)) continue;
      try {
        EXPECT_EQ(print(*parse(program_of(name, functions))),
                  print(*parse(program_of(name, newest))))
            << name;
        ++equal;
      } catch (const Error&) {
        // Refused, see above.
      }
    }
    EXPECT_GT(equal, 100U);
  }
}

// Written for each version that has all of its ops, a program is read back equal.
TEST_F(VhloGolden, WriteEveryVersion) {
  const auto newest = split_functions(bytecode_to_text(artifacts().at("1_20_0"), "newest"));
  std::map<std::string, size_t> written;
  for (const auto& [name, function] : newest) {
    std::unique_ptr<Module> module;
    try {
      module = parse(program_of(name, newest));
    } catch (const Error&) {
      continue;
    }
    for (const char* version :
         {"0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.8.4", "1.20.0"}) {
      SCOPED_TRACE(name + " " + version);
      try {
        const std::string bytes = write_bytecode(*module, {.version = version});
        EXPECT_EQ(print(*read_bytecode(bytes, "ours")), print(*module));
        ++written[version];
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::unimplemented) << error.what();
        EXPECT_STRNE(version, "1.20.0") << error.what();
      }
    }
  }
  EXPECT_GT(written["0.9.0"], 90U);
  EXPECT_GT(written["1.20.0"], written["0.9.0"]);
}

TEST_F(VhloGolden, TheFutureIsRefused) {
  const std::string bytes =
      read_binary(std::filesystem::path(kFolder) / "invalid_vhlo_future.mlir.bc");
  ASSERT_FALSE(bytes.empty());
  try {
    read_bytecode(bytes, "future.mlirbc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unimplemented);
    EXPECT_THAT(error.message(),
                StartsWith("future.mlirbc: version of VHLO, got 2.0.0, expected 0.9 to 1.20: "));
  }
}

// Programs of jax.export. Those of unknown shapes are converted to text, and refused as modules.
void expect_reads_and_writes(const std::filesystem::path& path, size_t& modules, size_t& dynamic) {
  SCOPED_TRACE(path);
  const std::string bytes = read_binary(path);
  try {
    const auto module = read_bytecode(bytes, "f");
    verify(*module);
    EXPECT_EQ(print(*read_bytecode(write_bytecode(*module), "ours")), print(*module));
    ++modules;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unimplemented);
    EXPECT_THAT(error.message(), HasSubstr("got a dynamic size, expected static ones"));
    EXPECT_THAT(bytecode_to_text(bytes, "f"), HasSubstr("tensor<?x"));
    ++dynamic;
  }
}

class JaxExport : public ::testing::TestWithParam<const char*> {};

TEST_P(JaxExport, AllAreRead) {
  const std::filesystem::path folder = std::string(GetParam()) + "/jax_export";
  const bool own = std::string_view(GetParam()) == kOwnFolder;
  if (!own && !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "the folder " << folder << " is absent";
  }
  size_t modules = 0;
  size_t dynamic = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mlirbc") continue;
    expect_reads_and_writes(entry.path(), modules, dynamic);
  }
  EXPECT_EQ(modules, own ? 9U : 46U);
  EXPECT_EQ(dynamic, own ? 0U : 2U);
}

INSTANTIATE_TEST_SUITE_P(Folders, JaxExport, ::testing::Values(kOwnFolder, "../shared/golden"),
                         [](const auto& info) {
                           return info.param == std::string_view(kOwnFolder) ? "own" : "shared";
                         });

// Text gives the default precision of products, bytecode leaves it out.
std::string without_default_precision(std::string text) {
  constexpr std::string_view kDefault =
      ", precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]";
  for (size_t at = 0; (at = text.find(kDefault, at)) != std::string::npos;) {
    text.erase(at, kDefault.size());
  }
  return text;
}

// The bytecode of the oldest and of the newest version is the program that JAX printed as text.
TEST(StablehloArtifacts, EqualTheTextOfJax) {
  const std::filesystem::path folder = std::string(kOwnFolder) + "/stablehlo";
  const auto text = parse(read_binary(folder / "mlp_gradient.mlir"));
  for (const char* name : {"mlp_gradient_oldest.mlirbc", "mlp_gradient_newest.mlirbc"}) {
    SCOPED_TRACE(name);
    const std::string bytes = read_binary(folder / name);
    EXPECT_EQ(print(*read_bytecode(bytes, name)), without_default_precision(print(*text)));
  }
}

// The number of instructions of each opcode.
std::map<Opcode, int> opcodes_of(const Module& module) {
  std::map<Opcode, int> counts;
  for (const auto& function : module.functions()) {
    for (const Instruction* x : function->instructions()) ++counts[x->opcode()];
  }
  return counts;
}

// Shardy's ops and attributes among StableHLO's: what a client sends for several devices, which
// orders constants in its own way.
TEST(StablehloArtifacts, OfSeveralDevicesEqualTheTextOfJax) {
  const std::filesystem::path folder = std::string(kOwnFolder) + "/stablehlo";
  const auto text = parse(read_binary(folder / "partitioned.mlir"));
  const auto module = read_bytecode(read_binary(folder / "partitioned.mlirbc"), "f");
  verify(*module);
  EXPECT_EQ(opcodes_of(*module), opcodes_of(*text));
  EXPECT_EQ(module->entry().attributes(), text->entry().attributes());
  EXPECT_EQ(print(*read_bytecode(write_bytecode(*module), "ours")), print(*module));
  EXPECT_THAT(print(*module), HasSubstr("xla.sdy.manual_computation_body_1"));
}

// Cut files and files with a wrong bit are refused with the offset, or are other programs.
TEST_F(VhloGolden, DamagedFilesAreRefused) {
  const std::string bytes = artifacts().at("1_20_0");
  for (size_t size = 0; size < bytes.size(); size += 397) {
    try {
      bytecode_to_text(std::string_view(bytes).substr(0, size), "f");
      ADD_FAILURE() << "cut at " << size;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("f: byte "));
    }
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); bit += 2011) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      bytecode_to_text(damaged, "f");
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), StartsWith("f: "));
    }
  }
}

}  // namespace
}  // namespace systole::hlo
