#include "systole/tpu_v1/assembler/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "systole/base/testing/error_of.h"
#include "systole/tpu_v1/isa/encoding.h"
#include "systole/tpu_v1/machine/machine.h"
#include "systole/tpu_v1/timing/timing.h"

namespace systole::tpu_v1 {
namespace {

using ::systole::testing::error_of;
using ::testing::HasSubstr;

Instruction random_instruction(std::mt19937_64& random) {
  Instruction i{.opcode = static_cast<Opcode>(random() % kOpcodes)};
  for (const FieldLayout& field : fields_of(i.opcode)) {
    const uint64_t bits = random() >> (64 - 8 * std::min(field.bytes, 7));
    i.*field.member = static_cast<int64_t>(bits);
    if (field.kind == FieldKind::unit) i.*field.member %= kUnits;
    if (field.kind == FieldKind::reg) i.*field.member %= kRegisters;
    if (field.is_signed && random() % 2 == 0) i.*field.member *= -1;
    if (field.kind == FieldKind::flags) {
      const auto flags = flags_of(i.opcode);
      i.flags = flags[random() % flags.size()].bit;
    }
  }
  return i;
}

Program random_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  Program program{.array = 8, .rounding = seed % 2 == 0 ? Rounding::tflite : Rounding::single};
  for (int i = 0; i < 300; ++i) program.instructions.push_back(random_instruction(random));
  std::string tile(64, '\0');
  for (size_t i = 20; i < tile.size(); ++i) tile[i] = static_cast<char>(random());
  program.tiles = {{3, tile}, {100000, std::string(64, 'x')}};
  program.constants = {{64, std::string(300, '\7') + "abc"}, {0, ""}};
  program.ports = {{"x", false, Element::u8, 0, 4, 8, 8},
                   {"y", true, Element::s16, 128, 4, 16, 32}};
  return program;
}

TEST(Encoding, RestoresRandomInstructions) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 5000; ++i) {
    const Instruction instruction = random_instruction(random);
    EXPECT_EQ(decode(encode(instruction)), instruction) << to_text(instruction);
  }
}

TEST(Encoding, MatmulHasThePapersFields) {
  const Instruction i{
      .opcode = Opcode::matmul, .flags = kNext, .ub = 0x010203, .acc = 0x0405, .rows = 0x06070809};
  const InstructionBytes bytes = encode(i);
  EXPECT_THAT(bytes, ::testing::ElementsAre(5, 1, 0, 3, 2, 1, 5, 4, 9, 8, 7, 6));
}

TEST(Encoding, RefusesWhatNoInstructionHas) {
  EXPECT_THAT(error_of([] { encode({.opcode = Opcode::matmul, .ub = 1 << 24}, 7); }),
              HasSubstr("instruction 7 (matmul): ub, got 16777216, expected 0 to 16777215"));
  EXPECT_THAT(error_of([] { encode({.opcode = Opcode::nop, .rows = 1}); }),
              HasSubstr("field that it does not have"));
  EXPECT_THAT(error_of([] { encode({.opcode = Opcode::activate, .flags = kRelu | kTanh}); }),
              HasSubstr("expected at most one of"));
  InstructionBytes bytes{};
  bytes[0] = 99;
  EXPECT_THAT(error_of([&] { decode(bytes, 3); }),
              HasSubstr("instruction 3: opcode, got 99, expected 0 to 15"));
  bytes[0] = 0;
  bytes[5] = 1;
  EXPECT_THAT(error_of([&] { decode(bytes); }), HasSubstr("byte 5, got 1, expected 0"));
}

TEST(ProgramFile, RestoresPrograms) {
  const Program program = random_program(6);
  EXPECT_EQ(read_program(write_program(program), "p"), program);
}

TEST(ProgramFile, EveryCutIsAnError) {
  const std::string bytes = write_program(random_program(7));
  for (size_t size = 0; size < bytes.size(); size += 3) {
    EXPECT_NE(error_of([&] { read_program(bytes.substr(0, size), "p"); }), "no error") << size;
  }
  EXPECT_THAT(error_of([&] { read_program(bytes + "x", "p"); }), HasSubstr("p: length, got"));
}

TEST(ProgramFile, NamesWhatIsWrong) {
  std::string bytes = write_program(random_program(8));
  EXPECT_THAT(error_of([&] { read_program("\x89HDF" + bytes.substr(4), "p"); }),
              HasSubstr("not a TPU v1 program"));
  bytes[8] = 9;
  EXPECT_THAT(error_of([&] { read_program(bytes, "p"); }),
              HasSubstr("p: version, got 9, expected 1"));
}

TEST(Assembler, RestoresDisassembledPrograms) {
  for (uint64_t seed = 10; seed < 20; ++seed) {
    const Program program = random_program(seed);
    EXPECT_EQ(assemble(disassemble(program), "p"), program) << seed;
  }
}

TEST(Assembler, ReadsText) {
  const Program program = assemble(R"(
    .array 4          ; a small machine
    .tile 2 01*15 ff
    .constant 0x40 0102
    + 03
    set fill=-3
    matmul.next.overwrite ub=1 acc=2 rows=0x10
    sync waiter=activation on=matrix behind=1
    halt)",
                                   "p");
  EXPECT_EQ(program.tiles.at(2), std::string(15, '\1') + "\xff");
  EXPECT_EQ(program.constants.at(0).bytes, "\1\2\3");
  ASSERT_EQ(program.instructions.size(), 4U);
  EXPECT_EQ(program.instructions[0].value, -3);
  EXPECT_EQ(program.instructions[1].flags, kNext | kOverwrite);
  EXPECT_EQ(program.instructions[1].rows, 16);
  EXPECT_EQ(program.instructions[2].waiter, static_cast<int64_t>(Unit::activation));
}

TEST(Assembler, ErrorsNameTheLine) {
  const auto error = [](const char* text) { return error_of([&] { assemble(text, "p"); }); };
  EXPECT_THAT(error("nop\nmatmull ub=1"), HasSubstr("p:2: opcode, got 'matmull'"));
  EXPECT_THAT(error("matmull"), HasSubstr("did you mean 'matmul'?"));
  EXPECT_THAT(error("foo"), HasSubstr("expected nop, halt, read_host, "));
  EXPECT_THAT(error("foo"), HasSubstr(", interrupt or debug"));
  EXPECT_THAT(
      error("matmul.nxt"),
      HasSubstr("flag of matmul, got 'nxt', expected next, overwrite, unsigned_input, "
                "unsigned_weights, input16, weights16 or high_bytes, did you mean 'next'?"));
  EXPECT_THAT(error("halt.now"), HasSubstr("flag of halt, got 'now', expected none"));
  EXPECT_THAT(
      error("matmul row=1"),
      HasSubstr("field of matmul, got 'row', expected ub, acc or rows, did you mean 'rows'?"));
  EXPECT_THAT(error("halt rows=1"), HasSubstr("field of halt, got 'rows', expected none"));
  EXPECT_THAT(error(".array 3"), HasSubstr(".array, got 3, expected 4 to 512"));
  EXPECT_THAT(error("matmul rows=x"), HasSubstr("rows, got 'x', expected a number"));
  EXPECT_THAT(error("set fil=1"),
              HasSubstr("register, got 'fil', expected fill, host_row_bytes, "));
  EXPECT_THAT(error("sync waiter=me"), HasSubstr("unit, got 'me'"));
  EXPECT_THAT(error("matmul acc=70000"), HasSubstr("acc, got 70000, expected 0 to 65535"));
  EXPECT_THAT(error("+ 00"), HasSubstr("no .tile or .constant"));
  EXPECT_THAT(error(".tile 1 0"), HasSubstr("expected pairs of hexadecimal digits"));
  EXPECT_THAT(error(".tile 1 00*99999999999"), HasSubstr("repetitions, got"));
  EXPECT_THAT(error(".tile 1 00*262145"), HasSubstr("bytes, got more than 262144"));
  EXPECT_THAT(error(".constant 0 00*268435456\n.constant 1 00*2"),
              HasSubstr("repetitions, got more than 268435456 bytes in the program"));
  EXPECT_THAT(error(".foo"), HasSubstr("directive, got '.foo'"));
}

// docs/tpu_v1_assembly.md.
std::string read_page() {
  std::ifstream file("docs/tpu_v1_assembly.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The indented lines from `begin` to `end`, without the indentation.
std::string block_of(const std::string& page, const std::string& begin, const std::string& end) {
  const size_t first = page.find("    " + begin);
  const size_t last = page.find("    " + end + "\n", first);
  EXPECT_NE(last, std::string::npos) << begin;
  std::istringstream lines(page.substr(first, last + 5 + end.size() - first));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += (line.size() > 4 ? line.substr(4) : "") + "\n";
  }
  return text;
}

TEST(AssemblyPage, HasAProgramThatRunsAsItSays) {
  const std::string page = read_page();
  const Program program = assemble(block_of(page, ".array 4", "halt"), "page");
  EXPECT_EQ(assemble(disassemble(program), "text"), program);
  MachineConfig config;
  config.array = program.array;
  Machine machine(config);
  const std::vector<int8_t> x = {1, 2, 3, 4, 10, -20, 30, -40};
  machine.write_port(program.port("x"), {reinterpret_cast<const uint8_t*>(x.data()), x.size()});
  EXPECT_EQ(machine.run(program).instructions, 12);
  const std::vector<uint8_t> y = machine.read_port(program.port("y"));
  EXPECT_EQ(y, (std::vector<uint8_t>{1, 3, 0, 0, 5, 0, 11, 30}));
  EXPECT_THAT(page, HasSubstr("x = [[1, 2, 3, 4], [10, -20, 30, -40]]"));
  EXPECT_THAT(page, HasSubstr("y is [[1, 3, 0, 0], [5, 0, 11, 30]]"));
  EXPECT_GT(simulate(program, config).counters.cycles, 0);
}

TEST(AssemblyPage, NamesAllThatThereIs) {
  const std::string page = read_page();
  const auto expect = [&](std::string_view name) {
    EXPECT_THAT(page, HasSubstr(fmt::format("`{}`", name)));
  };
  for (int i = 0; i < kOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    expect(name_of(opcode));
    for (const FlagName& flag : flags_of(opcode)) expect(flag.name);
    for (const FieldLayout& field : fields_of(opcode)) {
      if (field.kind == FieldKind::number && opcode != Opcode::set) expect(field.name);
    }
  }
  for (int i = 0; i < kRegisters; ++i) expect(name_of(static_cast<Register>(i)));
}

}  // namespace
}  // namespace systole::tpu_v1
