// systole conform: checks a PJRT plugin as its callers use it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <sstream>

#include "apps/systole/base/command.h"
#include "apps/systole/base/output.h"
#include "apps/systole/conform/host.h"
#include "apps/systole/conform/report.h"
#include "apps/systole/hlo/isolated.h"
#include "systole/base/error.h"
#include "systole/base/library_path.h"

namespace systole::app {
namespace {

using conform::Check;
using conform::Outcome;
using conform::Result;

struct Options {
  std::string plugin;
  std::vector<std::string> client_options;
  std::string topology;
  std::string filter;
  std::vector<std::string> programs;
  double timeout = 60;
  bool list = false;
  bool json = false;
};

// With a topology, those that need no devices.
std::vector<std::span<const Check>> families(bool of_topology) {
  if (of_topology) return {conform::topology_checks()};
  return {conform::table_checks(),     conform::client_checks(),   conform::buffer_checks(),
          conform::transfer_checks(),  conform::compile_checks(),  conform::execute_checks(),
          conform::thread_checks(),    conform::launch_checks(),   conform::pending_checks(),
          conform::extension_checks(), conform::profiler_checks(), conform::topology_checks(),
          conform::own_checks()};
}

std::vector<const Check*> checks_of(const std::string& filter, bool of_topology) {
  std::vector<const Check*> checks;
  const std::regex pattern(filter, std::regex::icase);
  for (const auto family : families(of_topology)) {
    for (const Check& check : family) {
      if (std::regex_search(std::string(check.name), pattern) ||
          std::regex_search(std::string(check.functions), pattern))
        checks.push_back(&check);
    }
  }
  if (checks.empty()) throw not_found("conform: checks that match '{}', got none", filter);
  return checks;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

conform::Setup setup_of(const Options& options) {
  conform::Setup setup{.plugin = options.plugin, .options = {}, .topology = options.topology};
  if (setup.plugin.empty()) setup.plugin = own_library_path("libsystole_pjrt.so");
  if (!std::filesystem::exists(setup.plugin))
    throw not_found("conform: plugin '{}': no such file", setup.plugin);
  for (const std::string& option : options.client_options) {
    const auto at = option.find('=');
    if (at == std::string::npos || at == 0)
      throw invalid_argument("conform: --client-options, got '{}', expected name=value", option);
    setup.options.push_back({option.substr(0, at), option.substr(at + 1)});
  }
  return setup;
}

// The answer of a child process: a letter, and why.
std::string run_check(const Check& check, const conform::Setup& setup) {
  try {
    const conform::Host host(setup);
    check.run(host);
    return "P";
  } catch (const conform::Failure& failure) {
    return "F" + failure.what;
  } catch (const conform::Absent& absent) {
    return "A" + absent.function;
  } catch (const std::exception& error) {
    return std::string("F") + error.what();
  }
}

std::string api_version(const conform::Setup& setup) {
  std::string version;
  run_isolated(
      1, {.processes = 1, .time_limit = 60},
      [&](size_t) {
        try {
          const conform::Host host(setup);
          return fmt::format("0.{}", host.minor_version());
        } catch (const conform::Failure& failure) {
          return "!" + failure.what;
        }
      },
      [&](size_t, const IsolatedResult& result) {
        version = result.death.empty() ? result.text : "!loading it ended with " + result.death;
      });
  if (version.starts_with('!'))
    throw failed_precondition("conform: plugin '{}': {}", setup.plugin, version.substr(1));
  return version;
}

void show_progress(size_t done, size_t count, const Result& result) {
  if (is_quiet()) return;
  if (result.outcome == Outcome::fail)
    fmt::print(stderr, "FAIL  {}: {}\n", result.check, result.why);
  if (isatty(STDERR_FILENO) != 0)
    fmt::print(stderr, "\r{}/{}{}", done, count, done == count ? "\n" : "");
}

std::vector<Result> run_checks(const Options& options, const conform::Setup& setup) {
  const std::vector<const Check*> checks = checks_of(options.filter, !options.topology.empty());
  std::vector<Result> results;
  run_isolated(
      checks.size(), {.processes = 1, .time_limit = options.timeout},
      [&](size_t i) { return run_check(*checks[i], setup); },
      [&](size_t i, const IsolatedResult& answer) {
        Result result{.check = std::string(checks[i]->name),
                      .functions = words_of(checks[i]->functions)};
        if (!answer.death.empty() || answer.text.empty()) {
          result.outcome = Outcome::fail;
          result.why = fmt::format("the process ended with {}", answer.death);
        } else {
          result.outcome = static_cast<Outcome>(answer.text[0]);
          result.why = answer.text.substr(1);
        }
        results.push_back(std::move(result));
        show_progress(results.size(), checks.size(), results.back());
      });
  return results;
}

// Runs the numeric programs of a folder by `systole hlo test`, in a process of its own.
conform::Programs run_programs(const std::string& folder, const conform::Setup& setup) {
  const auto quoted = [](const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
  };
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string device = "pjrt:" + setup.plugin;
  const std::string command = fmt::format("{} hlo test --backend {} {} 2>/dev/null", quoted(self),
                                          quoted(device), quoted(folder));
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    throw make_error(Code::resource_exhausted, "conform: a process for '{}'", folder);
  conform::Programs programs;
  char line[4096];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    const std::string text(line);
    if (text.find_first_not_of(" \n") != std::string::npos) programs.summary = text;
  }
  programs.passed = pclose(pipe) == 0;
  while (programs.summary.ends_with('\n')) programs.summary.pop_back();
  programs.summary = folder + ": " + programs.summary;
  return programs;
}

void conform_plugin(const Options& options) {
  if (options.list) {
    for (const Check* check : checks_of(options.filter, !options.topology.empty()))
      fmt::print("{}\n    {}\n", check->name, check->functions);
    return;
  }
  const conform::Setup setup = setup_of(options);
  conform::Report report{.plugin = setup.plugin, .version = api_version(setup)};
  report.results = run_checks(options, setup);
  for (const std::string& folder : options.programs)
    report.programs.push_back(run_programs(folder, setup));
  if (options.json) {
    print_json(conform::to_json(report));
  } else {
    fmt::print("{}", conform::to_text(report));
  }
  std::fflush(stdout);
  if (!report.passed()) throw ExitStatus{1};
}

}  // namespace

const Command kConformCommand{
    .name = "conform",
    .summary = "Checks a PJRT plugin: every function of the C API as a caller would use it",
    .add =
        [](CommandLine& line) {
          const auto options = std::make_shared<Options>();
          line.option("plugin", options->plugin, "The library; default: the one of this program");
          line.option("--client-options", options->client_options,
                      "An option of PJRT_Client_Create: name=value")
              .one_each();
          line.option("--topology", options->topology,
                      "Compiles for the topology of this name, and runs no check that needs a "
                      "device");
          line.option("--filter", options->filter,
                      "Only checks whose name or functions match this regular expression");
          line.option("--programs", options->programs,
                      "Also runs the self-checking StableHLO programs of this folder")
              .one_each();
          line.option("--timeout", options->timeout, "Seconds for a check")
              .show_default()
              .positive();
          line.flag("--list", options->list, "Lists the checks and ends");
          line.flag("--json", options->json, kJsonMeaning);
          line.on_run([options] { conform_plugin(*options); });
        },
    .examples = {"", "libpjrt.so --client-options cores=8", "libtpu.so --topology v5e:2x2",
                 "libpjrt.so --programs stablehlo/tests/interpret"},
};

}  // namespace systole::app
