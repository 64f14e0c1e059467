#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/systole/base/command.h"
#include "apps/systole/base/output.h"
#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/library_path.h"
#include "systole/profile/prediction/machine.h"
#include "systole/runtime/registry.h"

namespace systole::app {
namespace {

void print_machine() {
  fmt::print("machine\n  CPU    {}\n  cores  {}\n  ISA    {}\n", profile::cpu_model(),
             profile::num_cores(), fmt::join(profile::cpu_extensions(), ", "));
}

// Errors: those of making the client.
void print_devices(const std::string& backend, std::string_view indent) {
  for (const runtime::Device& device : runtime::client(backend).devices()) {
    const std::string memory =
        device.memory_bytes == 0
            ? ""
            : fmt::format(", {:.1f} GiB", static_cast<double>(device.memory_bytes) / (1 << 30));
    fmt::print("{}{:<12} {}{}\n", indent, device.name, device.kind, memory);
  }
}

void print_backends() {
  fmt::print("\nbackends\n");
  for (const std::string& name : runtime::backend_names()) {
    // Devices of pjrt and remote belong to the plugin or worker that a program names.
    if (name != "pjrt" && name != "remote") print_devices(name, "  ");
  }
  fmt::print(
      "  {:<12} the virtual TPU: session target 'local', 8 cores of which a plain graph uses one\n",
      "local");
}

void print_plugin(std::string_view name, std::string_view path) {
  const bool there = std::filesystem::exists(path);
  fmt::print("  {:<12} {}{}\n", name, path, there ? "" : " (no such file)");
  if (!there) return;
  try {
    print_devices(fmt::format("pjrt:{}", path), "    ");
  } catch (const Error& error) {
    fmt::print("    {}\n", error.what());
  }
}

struct Plugin {
  std::string name;
  std::string path;
};

struct Plugins {
  std::vector<Plugin> plugins;
  std::vector<std::string> wrong;  // entries of PJRT_NAMES_AND_LIBRARY_PATHS
};

// Where JAX and PyTorch/XLA look for PJRT plugins: "name:path,name:path", and libtpu's own
// variable; and our own.
Plugins find_plugins() {
  Plugins found;
  const std::string libtpu = environment_value("TPU_LIBRARY_PATH");
  const std::string plugins = environment_value("PJRT_NAMES_AND_LIBRARY_PATHS");
  std::string_view rest = plugins;
  const std::string chosen = environment_value("SYSTOLE_PJRT_PLUGIN");
  if (const std::string own = own_library_path("libsystole_pjrt.so");
      std::filesystem::exists(own)) {
    found.plugins.push_back({"systole", own});
  }
  if (chosen.find('/') != std::string::npos) found.plugins.push_back({"(default)", chosen});
  if (!libtpu.empty()) found.plugins.push_back({"tpu", libtpu});
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.empty()) continue;
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == entry.size()) {
      found.wrong.emplace_back(entry);
      continue;
    }
    found.plugins.push_back(
        {std::string(entry.substr(0, colon)), std::string(entry.substr(colon + 1))});
  }
  return found;
}

void print_plugins() {
  fmt::print("\nPJRT plugins\n");
  const Plugins found = find_plugins();
  for (const Plugin& plugin : found.plugins) print_plugin(plugin.name, plugin.path);
  for (const std::string& entry : found.wrong) {
    fmt::print("  PJRT_NAMES_AND_LIBRARY_PATHS: entry, got '{}', expected name:path\n", entry);
  }
}

// -- The same as JSON.

nlohmann::json devices_json(const std::string& backend) {
  nlohmann::json devices = nlohmann::json::array();
  for (const runtime::Device& device : runtime::client(backend).devices()) {
    devices.push_back(
        {{"name", device.name}, {"kind", device.kind}, {"memory_bytes", device.memory_bytes}});
  }
  return devices;
}

nlohmann::json plugin_json(const Plugin& plugin) {
  nlohmann::json json = {{"name", plugin.name}, {"path", plugin.path}};
  if (!std::filesystem::exists(plugin.path)) {
    json["error"] = "no such file";
    return json;
  }
  try {
    json["devices"] = devices_json("pjrt:" + plugin.path);
  } catch (const Error& error) {
    json["error"] = error.what();
  }
  return json;
}

void print_all_as_json() {
  nlohmann::json backends = nlohmann::json::object();
  for (const std::string& name : runtime::backend_names()) {
    if (name != "pjrt" && name != "remote") backends[name] = devices_json(name);
  }
  nlohmann::json plugins = nlohmann::json::array();
  const Plugins found = find_plugins();
  for (const Plugin& plugin : found.plugins) plugins.push_back(plugin_json(plugin));
  print_json({{"machine",
               {{"cpu", profile::cpu_model()},
                {"cores", profile::num_cores()},
                {"isa", profile::cpu_extensions()}}},
              {"backends", backends},
              {"pjrt_plugins", plugins},
              {"wrong_entries", found.wrong}});
}

}  // namespace

const Command kDevicesCommand{
    .name = "devices",
    .summary = "Lists this machine, the backends and the PJRT plugins",
    .add =
        [](CommandLine& line) {
          const auto json = std::make_shared<bool>(false);
          line.flag("--json", *json, kJsonMeaning);
          line.on_run([json] {
            if (*json) return print_all_as_json();
            print_machine();
            print_backends();
            print_plugins();
          });
        },
};

}  // namespace systole::app
