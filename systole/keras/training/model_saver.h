// How ModelCheckpoint writes models.
#pragma once

#include <functional>
#include <string>

namespace systole::keras {

class Model;

// Functions that write a file; each replaces one that is there.
struct ModelSaver {
  std::function<void(const Model& model, const std::string& path)> model = nullptr;
  std::function<void(const Model& model, const std::string& path)> weights = nullptr;
};

// The functions in use. A program may set its own before it trains. Not synchronised.
ModelSaver& model_saver();

}  // namespace systole::keras
