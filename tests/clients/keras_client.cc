// Loads the models that Keras saved, trains them on, and saves them again.
// usage: keras_client FOLDER...
// A FOLDER holds data.h5 with x0, x1, ... and y0, ..., and model.h5, model.keras or both, and
// later.weights.h5. For each of these, <kind>, it writes
//   result-<kind>.h5     p0...: predictions; q0...: after two steps; r0...: after two more
//   again-<kind>.h5, .keras, .weights.h5: the model after two steps
// or, after an error, error-<kind>.txt.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/keras.h"

namespace systole::clients {
namespace {

namespace fs = std::filesystem;
constexpr int kSteps = 2;

std::vector<Tensor> arrays_of(const Hdf5Reader& file, char kind) {
  std::vector<Tensor> arrays;
  for (int i = 0; file.contains(fmt::format("{}{}", kind, i)); ++i) {
    arrays.push_back(file.read(fmt::format("{}{}", kind, i)));
  }
  return arrays;
}

using Results = std::vector<std::pair<std::string, Tensor>>;

void add_predictions(Results& results, char kind, const keras::Model& model,
                     const std::vector<Tensor>& x) {
  int i = 0;
  for (const Tensor& y : model.predict_all(x))
    results.emplace_back(fmt::format("{}{}", kind, i++), y);
}

void train_steps(const keras::Model& model, const std::vector<Tensor>& x,
                 const std::vector<Tensor>& y) {
  for (int step = 0; step < kSteps; ++step) model.train_on_batch(x, y);
}

// Tries weights alone: the model of `model.keras` or `model.h5` with the weights of a later one.
void try_weights(const fs::path& folder, const std::vector<Tensor>& x, Results& results) {
  const fs::path archive = folder / "model.keras";
  const fs::path model_file = fs::exists(archive) ? archive : folder / "model.h5";
  const keras::Model model = keras::load_model(model_file, {.compile = false});
  model.load_weights(folder / "later.weights.h5");
  add_predictions(results, 'p', model, x);
}

void try_model(const fs::path& folder, const std::string& kind, const std::vector<Tensor>& x,
               const std::vector<Tensor>& y, Results& results) {
  const keras::Model model = keras::load_model(folder / ("model." + kind));
  add_predictions(results, 'p', model, x);
  train_steps(model, x, y);
  add_predictions(results, 'q', model, x);
  const std::string again = folder / ("again-" + kind);
  model.save(again + ".h5");
  model.save(again + ".keras");
  model.save_weights(again + ".weights.h5");
  train_steps(model, x, y);
  add_predictions(results, 'r', model, x);
}

void try_folder(const fs::path& folder) {
  const Hdf5Reader data(default_file_system(), folder / "data.h5");
  const std::vector<Tensor> x = arrays_of(data, 'x');
  const std::vector<Tensor> y = arrays_of(data, 'y');
  for (const std::string kind : {"h5", "keras", "weights"}) {
    const bool weights = kind == "weights";
    if (!fs::exists(folder / (weights ? "later.weights.h5" : "model." + kind))) continue;
    const std::string path = folder / fmt::format("result-{}.h5", kind);
    try {
      const Graph graph;
      Results results;
      if (weights) {
        try_weights(folder, x, results);
      } else {
        try_model(folder, kind, x, y, results);
      }
      Hdf5Writer result(path);
      for (const auto& [name, values] : results) result.add_array(name, values);
      std::ofstream(path, std::ios::binary) << result.finish();
    } catch (const std::exception& error) {
      std::ofstream(folder / fmt::format("error-{}.txt", kind)) << error.what();
    }
  }
}

}  // namespace
}  // namespace systole::clients

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      systole::clients::try_folder(argv[i]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "keras_client: %s\n", error.what());
      return 1;
    }
  }
  return 0;
}
