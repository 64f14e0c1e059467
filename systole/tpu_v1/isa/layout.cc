#include "systole/tpu_v1/isa/layout.h"

#include <array>

namespace systole::tpu_v1 {
namespace {

using I = Instruction;

constexpr FieldLayout kFlagsField{"flags", &I::flags, 2, FieldKind::flags};
constexpr FieldLayout kUbField{"ub", &I::ub, 3};
constexpr std::array kMatmulFields = {kFlagsField, kUbField, FieldLayout{"acc", &I::acc, 2},
                                      FieldLayout{"rows", &I::rows, 4}};
constexpr std::array kConvolveFields = {kFlagsField, kUbField, FieldLayout{"acc", &I::acc, 2},
                                        FieldLayout{"height", &I::height, 2},
                                        FieldLayout{"width", &I::width, 2}};
constexpr std::array kVectorFields = {kFlagsField, kUbField, FieldLayout{"source", &I::source, 3},
                                      FieldLayout{"rows", &I::rows, 3}};
constexpr std::array kHostFields = {kUbField, FieldLayout{"rows", &I::rows, 4},
                                    FieldLayout{"host", &I::host, 4}};
constexpr std::array kWeightsFields = {
    FieldLayout{"rows", &I::rows, 2}, FieldLayout{"columns", &I::columns, 2},
    FieldLayout{"repeat", &I::repeat, 2}, FieldLayout{"tile", &I::tile, 4}};
constexpr std::array kSyncFields = {FieldLayout{"waiter", &I::waiter, 1, FieldKind::unit},
                                    FieldLayout{"on", &I::on, 1, FieldKind::unit},
                                    FieldLayout{"behind", &I::behind, 4}};
constexpr std::array kSetFields = {FieldLayout{"register", &I::reg, 1, FieldKind::reg},
                                   FieldLayout{"value", &I::value, 8, FieldKind::number, true}};
constexpr std::array kCodeFields = {FieldLayout{"code", &I::code, 4}};

constexpr std::array kMatmulFlags = {FlagName{"next", kNext},
                                     FlagName{"overwrite", kOverwrite},
                                     FlagName{"unsigned_input", kUnsignedInput},
                                     FlagName{"unsigned_weights", kUnsignedWeights},
                                     FlagName{"input16", kInput16},
                                     FlagName{"weights16", kWeights16},
                                     FlagName{"high_bytes", kHighBytes}};
constexpr std::array kActivateFlags = {FlagName{"relu", kRelu},
                                       FlagName{"sigmoid", kSigmoid},
                                       FlagName{"tanh", kTanh},
                                       FlagName{"max_pool", kMaxPool},
                                       FlagName{"average_pool", kAveragePool},
                                       FlagName{"output16", kOutput16},
                                       FlagName{"unsigned_output", kUnsignedOutput},
                                       FlagName{"raw", kRaw}};
constexpr std::array kVectorFlags = {FlagName{"relu", kRelu},
                                     FlagName{"sigmoid", kSigmoid},
                                     FlagName{"tanh", kTanh},
                                     FlagName{"max_pool", kMaxPool},
                                     FlagName{"average_pool", kAveragePool},
                                     FlagName{"output16", kOutput16},
                                     FlagName{"unsigned_output", kUnsignedOutput},
                                     FlagName{"add", kAdd},
                                     FlagName{"multiply", kMultiply},
                                     FlagName{"a16", kA16},
                                     FlagName{"b16", kB16},
                                     FlagName{"unsigned_operands", kUnsignedOperands}};

struct OpcodeRow {
  std::string_view name;
  int unit;  // -1: none
  std::span<const FieldLayout> fields;
  std::span<const FlagName> flags = {};
};

constexpr int kNoUnit = -1;
constexpr int id(Unit unit) { return static_cast<int>(unit); }

// Indexed by opcode.
constexpr std::array<OpcodeRow, kOpcodes> kRows = {{
    {"nop", kNoUnit, {}},
    {"halt", kNoUnit, {}},
    {"read_host", id(Unit::host_in), kHostFields},
    {"read_host_strided", id(Unit::host_in), kHostFields},
    {"read_weights", id(Unit::weights), kWeightsFields},
    {"matmul", id(Unit::matrix), kMatmulFields, kMatmulFlags},
    {"convolve", id(Unit::matrix), kConvolveFields, kMatmulFlags},
    {"activate", id(Unit::activation), kMatmulFields, kActivateFlags},
    {"vector", id(Unit::activation), kVectorFields, kVectorFlags},
    {"write_host", id(Unit::host_out), kHostFields},
    {"write_host_strided", id(Unit::host_out), kHostFields},
    {"sync", kNoUnit, kSyncFields},
    {"sync_buffer", kNoUnit, kSyncFields},
    {"set", kNoUnit, kSetFields},
    {"interrupt", kNoUnit, kCodeFields},
    {"debug", kNoUnit, kCodeFields},
}};

constexpr std::array<std::string_view, kRegisters> kRegisterNames = {
    "fill",           "host_row_bytes", "host_stride",    "conv_images",   "conv_height",
    "conv_width",     "conv_stride_y",  "conv_stride_x",  "conv_offset_y", "conv_offset_x",
    "pool_images",    "pool_height",    "pool_width",     "pool_window_y", "pool_window_x",
    "pool_stride_y",  "pool_stride_x",  "pool_offset_y",  "pool_offset_x", "pool_out_height",
    "pool_out_width", "channel_table",  "output_zero",    "output_min",    "output_max",
    "vector_b",       "a_zero",         "a_multiplier",   "a_shift",       "b_zero",
    "b_multiplier",   "b_shift",        "out_multiplier", "out_shift",     "left_shift"};

const OpcodeRow& row(Opcode opcode) { return kRows[static_cast<size_t>(opcode)]; }

}  // namespace

std::string_view name_of(Opcode opcode) { return row(opcode).name; }
std::string_view name_of(Register reg) { return kRegisterNames[static_cast<size_t>(reg)]; }
std::string_view name_of(Unit unit) { return kUnitNames[static_cast<size_t>(unit)]; }
int unit_of(Opcode opcode) { return row(opcode).unit; }
std::span<const FieldLayout> fields_of(Opcode opcode) { return row(opcode).fields; }
std::span<const FlagName> flags_of(Opcode opcode) { return row(opcode).flags; }

Registers::Registers() {
  for (const Register one :
       {Register::conv_images, Register::conv_height, Register::conv_width, Register::conv_stride_y,
        Register::conv_stride_x, Register::pool_images, Register::pool_height, Register::pool_width,
        Register::pool_window_y, Register::pool_window_x, Register::pool_stride_y,
        Register::pool_stride_x, Register::pool_out_height, Register::pool_out_width}) {
    set(one, 1);
  }
  set(Register::output_min, -128);
  set(Register::output_max, 127);
  for (const Register multiplier :
       {Register::a_multiplier, Register::b_multiplier, Register::out_multiplier}) {
    set(multiplier, int64_t{1} << 30);  // with a shift of 1: a factor of 1
  }
  for (const Register shift : {Register::a_shift, Register::b_shift, Register::out_shift})
    set(shift, 1);
}

}  // namespace systole::tpu_v1
