// Programs of TensorFlow 1 in Python: the Python of the environment runs them with the package
// systole_tpu.
#include "apps/systole/run.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/systole/base/command.h"
#include "systole/base/error.h"

namespace systole::app {
namespace {

constexpr const char* kPython = "python3";

// Runs the package, or says how to get it.
constexpr const char* kStart = R"(import sys
try:
    from systole_tpu.__main__ import main
except ModuleNotFoundError:
    sys.exit(f"systole: package systole-tpu, got none in {sys.executable}, expected it: "
             f"{sys.executable} -m pip install systole-tpu")
sys.exit(main(sys.argv[1:])))";

struct RunOptions {
  std::string program;
  std::vector<std::string> arguments;
  std::string tpu;
  bool allow_missing = false;
};

bool is_program(std::string_view word) { return word.ends_with(".py"); }

}  // namespace

bool runs_python(std::span<char* const> words) {
  if (words.size() < 3) return false;
  const std::string_view command = words[1];
  // This program prints the help.
  if (command == "run")
    return words[2] != std::string_view("--help") && words[2] != std::string_view("-h");
  return command == "check" && is_program(words[2]);
}

void run_python(std::span<char* const> words) {
  std::vector<const char*> call = {kPython, "-c", kStart};
  if (std::string_view(words[1]) == "check") call.push_back("check");
  call.insert(call.end(), words.begin() + 2, words.end());
  call.push_back(nullptr);
  ::execvp(kPython, const_cast<char* const*>(call.data()));
  throw not_found("systole {}: {}, got none, expected it in PATH, with the package systole-tpu",
                  words[1], kPython);
}

// Declares the options that the package reads (python/systole_tpu/__main__.py), for the help and
// completions.
const Command kRunCommand{
    .name = "run",
    .summary = "Runs a program of TensorFlow 1, in Python, as it is",
    .add =
        [](CommandLine& line) {
          auto options = std::make_shared<RunOptions>();
          line.option("PROGRAM", options->program,
                      "The program: PROGRAM.py, which finds Systole as `tensorflow`");
          line.option("ARGS", options->arguments, "The program's own arguments");
          line.option(
                  "--tpu", options->tpu,
                  "Before PROGRAM: the TPU that the program finds, whatever name it looks for: "
                  "v2-8 ... v3-2048 (a virtual one of so many cores), local or grpc://HOST:PORT "
                  "(a worker); by default $SYSTOLE_TPU")
              .value_name("TPU");
          line.flag(
              "--allow-missing", options->allow_missing,
              "Before PROGRAM: also runs a program that comes to names of TensorFlow that are "
              "missing here, until it does");
          line.on_run([] { throw UsageError("PROGRAM.py, got none, expected a program"); });
        },
    .examples = {"old.py --steps=100", "--tpu v2-8 old.py", "--allow-missing old.py"},
};

}  // namespace systole::app
