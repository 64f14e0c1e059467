// The ops of functions and regions.
#pragma once

#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/names.h"
#include "systole/stablehlo/text/op_reader.h"

namespace systole::hlo::text {

class BodyReader {
 public:
  BodyReader(Lexer& lexer, Module& module) : lexer_(lexer), module_(module) {}

  // Opens and closes the scope of the names of a function or region.
  void open_scope() { scopes_.open(); }
  void close_scope() { scopes_.close(); }
  // Adds a parameter for each leaf of the parameter's type.
  void add_parameter(Computation& computation, const ParsedParameter& parameter);
  // Reads a block label ^bb0(%arg0: tensor<f32>), if there is one.
  void read_block_label(Computation& computation);
  // Reads ops up to the '}' after the return.
  void read_body(Computation& computation);
  // Checks, after all functions are read, that called functions exist and accept their operands.
  // Errors: INVALID_ARGUMENT; UNIMPLEMENTED for calls of functions without a body.
  void check_calls();

 private:
  void read_op(Computation& computation);
  void add_op(Computation& computation, const ParsedOp& op);
  // Errors: INVALID_ARGUMENT for a tuple where StableHLO takes none.
  void check_tuples(const ParsedOp& op) const;
  void set_results(Computation& computation, const ParsedOp& op);
  std::vector<Value> make(Computation& computation, const ParsedOp& op);
  std::vector<Value> import(Computation& computation, const ParsedOp& op);
  // Read the region of an op of Shardy: into the computation, or into a function of its own.
  std::vector<Value> inline_region(Computation& computation, const ParsedOp& op);
  std::vector<Value> call_region(Computation& computation, const ParsedOp& op);
  std::vector<ParsedParameter> read_sharded_parameters(const ParsedOp& op);
  ParsedOp read_to_sharded_return(Computation& computation, const ParsedOp& op);
  std::vector<Value> shard_results(Computation& computation, const ParsedOp& op,
                                   std::vector<Value> values);
  void expect_same_type(const ParsedOp& op, std::string_view what, const TypeTree& local,
                        const TypeTree& global) const;
  std::vector<Value> element_of_tuple(const ParsedOp& op);
  std::vector<ParsedParameter> read_block_parameters();
  // Read the '{' and the '}' of a region's body.
  void enter_region(bool isolated = false);
  void leave_region();
  std::vector<Value> make_instruction(Computation& computation, Opcode opcode, const ParsedOp& op);
  void read_region(Instruction& instruction, const ParsedRegion& parsed);
  void check_types(const Instruction& instruction, size_t offset);
  void define_results(const ParsedOp& op, std::vector<Value> values);

  Lexer& lexer_;
  Module& module_;
  Scopes scopes_;
  std::vector<std::pair<const Instruction*, size_t>> calls_;
  int depth_ = 0;
};

}  // namespace systole::hlo::text
