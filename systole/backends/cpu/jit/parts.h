// Cuts a module into parts that threads optimise and make code of side by side.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace systole::cpu {

// The names of the functions whose code one part has.
using Part = std::vector<std::string>;

// Every function with code is in one part. The parts are at most `most`, the largest first, and of
// about equal work; one alone where the module is too small for more.
std::vector<Part> plan_parts(const llvm::Module& module, int most);

// Lets functions of one part name those of another.
void share_functions(llvm::Module& module);

// The module that the bitcode is of, with the code of the part's functions alone; the others are
// declared. Every thread has a context of its own. Errors: INTERNAL with LLVM's message.
std::unique_ptr<llvm::Module> read_part(llvm::StringRef bitcode, const Part& part,
                                        llvm::LLVMContext& context);

// The parts' object files in one string, as code_cache.h says, and back.
std::string join_objects(const std::vector<std::string>& objects);
std::vector<std::string_view> split_objects(std::string_view joined);

}  // namespace systole::cpu
