// Where the user's libtpu is: Google's compiler and runtime for TPUs, a PJRT plugin that compiles
// without a TPU. It is never fetched by this program.
#pragma once

#include <string>

namespace systole::tpu_check {

struct LibTpu {
  std::string path;
  std::string version;  // of its package, "0.0.42.1"; "" where it is not known
};

// Returns `given` unless it is empty, else $TPU_LIBRARY_PATH, else the libtpu of the active virtual
// environment ($VIRTUAL_ENV, $CONDA_PREFIX). A folder stands for the libtpu.so in it. Errors:
// NOT_FOUND with the command that installs it; and for a path without a file.
LibTpu find_libtpu(const std::string& given);

// The command that installs libtpu.
std::string libtpu_install_command();

}  // namespace systole::tpu_check
