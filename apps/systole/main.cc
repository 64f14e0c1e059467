// The command line: `systole help` lists the commands.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/systole/base/command.h"
#include "apps/systole/base/output.h"
#include "apps/systole/manual/completion.h"
#include "apps/systole/manual/environment.h"
#include "apps/systole/manual/man_page.h"
#include "apps/systole/run.h"
#include "systole/base/color.h"
#include "systole/base/file_system.h"
#include "systole/base/library_pages.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

// In the order in which a person comes to need them.
constexpr const Command* kCommands[] = {
    &kTrainCommand,  &kEvaluateCommand, &kPredictCommand, &kExportCommand,  &kCheckCommand,
    &kRunCommand,    &kProfileCommand,  &kBoardCommand,   &kInspectCommand, &kDataCommand,
    &kFilesCommand,  &kHloCommand,      &kFlopsCommand,   &kMachineCommand, &kQuantizeCommand,
    &kTpuV1Command,  &kDevicesCommand,  &kConformCommand, &kWorkerCommand,  &kCacheCommand,
    &kVersionCommand};

struct SharedOptions {
  std::string color = "auto";
  bool quiet = false;
  bool verbose = false;
};

// The options that all commands take.
void add_shared_options(CommandLine& line, SharedOptions& options) {
  line.option("--color", options.color, "When to colour text: auto on a terminal without NO_COLOR")
      .one_of({"auto", "always", "never"})
      .show_default();
  const CommandLineOption quiet =
      line.flag("-q,--quiet", options.quiet, "Shows errors and results only");
  line.flag("-v,--verbose", options.verbose, "Logs more, as SYSTOLE_LOG=debug").excludes(quiet);
  line.share_options();
  line.before_run([&options] {
    if (options.color != "auto") {
      set_color_mode(options.color == "always" ? ColorMode::always : ColorMode::never);
    }
    if (!options.quiet && !options.verbose) return;
    is_quiet() = options.quiet;
    // Also for processes that a command starts, and for commands that log less on a terminal.
    ::setenv("SYSTOLE_LOG", options.quiet ? "error" : "debug", 1);
    set_log_level(options.quiet ? LogLevel::error : LogLevel::debug);
  });
}

// `systole help`, `systole help flops`.
void add_help(CommandLine& root) {
  CommandLine& help = root.command("help", "Explains a command, or lists all commands");
  auto names = std::make_shared<std::vector<std::string>>();
  help.option("command", *names,
              "The command to explain: `data`, `data convert`; or `environment`: the variables");
  help.example("train");
  help.example("data convert");
  help.example("environment");
  help.on_run([&root, names] {
    if (*names == std::vector<std::string>{"environment"}) {
      std::fputs(environment_help().c_str(), stdout);
      return;
    }
    const CommandLine* shown = &root;
    for (const std::string& name : *names) {
      const CommandLine* below = shown->find_command(name);
      if (below == nullptr) {
        const std::string where = shown == &root ? "" : shown->full_name() + ": ";
        throw UsageError(where + shown->no_command(name));
      }
      shown = below;
    }
    std::fputs(shown->help().c_str(), stdout);
  });
}

// `systole completion bash` prints a script.
void add_completion(CommandLine& root) {
  CommandLine& line =
      root.command("completion", "Prints a script that completes commands and options in a shell");
  auto shell = std::make_shared<std::string>();
  line.option("shell", *shell, "bash, zsh or fish").one_of({"bash", "zsh", "fish"}).required();
  line.example("bash > ~/.local/share/bash-completion/completions/systole");
  line.example("zsh > ~/.zfunc/_systole  # with fpath+=~/.zfunc before compinit");
  line.example("fish > ~/.config/fish/completions/systole.fish");
  line.on_run([&root, shell] {
    const CommandText text = root.text();
    const std::string script = *shell == "bash"  ? bash_completion(text)
                               : *shell == "zsh" ? zsh_completion(text)
                                                 : fish_completion(text);
    std::fputs(script.c_str(), stdout);
  });
}

void write_file(const std::string& path, const std::string& text) {
  default_file_system().make_directories(parent_path(path));
  write_file_atomically(default_file_system(), path, text);
}

// `systole manual FOLDER` writes the pages and the scripts of all shells, in the folders below
// /usr/share: for the build.
void add_manual(CommandLine& root) {
  CommandLine& line = root.command("manual", "Writes the manual pages and completions");
  line.hide();
  auto folder = std::make_shared<std::string>();
  line.option("folder", *folder, "Made if it is missing").required();
  line.on_run([&root, folder] {
    const CommandText text = root.text();
    const std::string base = *folder + "/";
    for (const ManPage& page : man_pages(text, SYSTOLE_VERSION)) {
      write_file(base + "man/man1/" + page.file, page.text);
    }
    write_file(base + "bash-completion/completions/systole", bash_completion(text));
    // Debian's zsh looks into the second folder below /usr, the first one below /usr/local.
    for (const char* functions : {"zsh/site-functions", "zsh/vendor-completions"}) {
      write_file(base + functions + "/_systole", zsh_completion(text));
    }
    write_file(base + "fish/vendor_completions.d/systole.fish", fish_completion(text));
  });
}

int run(int argc, char** argv) {
  CommandLine line("systole",
                   "Systole trains neural networks the way the TPU stack does, natively in C++.");
  line.require_command();
  line.version("systole " SYSTOLE_VERSION, "Shows the version");
  const auto options = std::make_shared<SharedOptions>();
  add_shared_options(line, *options);
  line.example("train examples/configs/iris.yaml");
  line.example("help train");
  line.example("help environment");
  for (const Command* command : kCommands) add_command(line, *command);
  add_completion(line);
  add_manual(line);
  add_help(line);
  if (const std::span words(argv, static_cast<size_t>(argc)); runs_python(words)) {
    try {
      run_python(words);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  if (argc == 1) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  return line.run(argc, argv);
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Runs after the loader and before the libraries' constructors. Releases the pages that the loader
// has read, mostly tables of symbols and relocations: nothing reads them again.
void release_loaded(int, char**, char**) { release_all_library_pages(); }

[[gnu::section(".preinit_array"), gnu::used]] void (*before_libraries)(int, char**,
                                                                       char**) = &release_loaded;

#endif

}  // namespace

}  // namespace systole::app

int main(int argc, char** argv) { return systole::app::run(argc, argv); }
