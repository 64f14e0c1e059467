// Splits a module into parts that threads compile concurrently.
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

// The names of the functions in one part.
using Part = std::vector<std::string>;

// Assigns every function to one of at most `most` parts of about equal work, the largest first.
// Small modules get one part.
std::vector<Part> plan_parts(const llvm::Module& module, int most);

// Makes functions visible across parts.
void share_functions(llvm::Module& module);

// Reads the module from bitcode with the bodies of the part's functions; others are declared. Each
// thread has its own context. Errors: INTERNAL with LLVM's message.
std::unique_ptr<llvm::Module> read_part(llvm::StringRef bitcode, const Part& part,
                                        llvm::LLVMContext& context);

// Joins a record and the parts' object files into one string (format: code_cache.h), and splits
// them. Bytes that were not joined have no parts.
std::string join_objects(const std::vector<std::string>& objects);
std::vector<std::string_view> split_objects(std::string_view joined);

}  // namespace systole::cpu
