// Programs of TensorFlow 1 in Python: the Python of the environment runs them with the package
// systole_tpu.
#include "apps/systole/run.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "apps/systole/base/command.h"
#include "systole/base/error.h"

namespace systole::app {
namespace {

constexpr const char* kPython = "python3";

bool is_program(std::string_view word) { return word.ends_with(".py"); }

}  // namespace

bool runs_python(std::span<char* const> words) {
  if (words.size() < 3) return false;
  const std::string_view command = words[1];
  // `systole run --help` explains the command.
  if (command == "run") return std::string_view(words[2]) != "--help";
  return command == "check" && is_program(words[2]);
}

void run_python(std::span<char* const> words) {
  std::vector<const char*> call = {kPython, "-m", "systole_tpu"};
  if (std::string_view(words[1]) == "check") call.push_back("check");
  call.insert(call.end(), words.begin() + 2, words.end());
  call.push_back(nullptr);
  ::execvp(kPython, const_cast<char* const*>(call.data()));
  throw not_found("systole {}: {}, got none, expected it in PATH, with the package systole-tpu",
                  words[1], kPython);
}

const Command kRunCommand{
    .name = "run",
    .summary = "Runs a program of TensorFlow 1, in Python, as it is",
    .add =
        [](CommandLine& line) {
          line.on_run([] {
            throw UsageError(
                "run: PROGRAM.py, got none; --tpu v2-8 before it names the TPU it finds");
          });
        },
    .examples = {"old.py --steps=100", "--tpu v2-8 old.py"},
};

}  // namespace systole::app
