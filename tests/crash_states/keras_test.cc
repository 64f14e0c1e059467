// The files of Keras under power failures.
#include "systole/keras/keras.h"

#include <gtest/gtest.h>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/keras/fit/backup.h"
#include "tests/crash_states/crash_states.h"

namespace systole::testing {
namespace {

keras::Sequential trained_model() {
  keras::Sequential model({keras::layers::Dense(1, {.input_shape = Shape{2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit({Tensor::of<float>({2, 2}, {1, 2, 3, 4})}, {Tensor::of<float>({2, 1}, {1, 2})},
            {.verbose = 0});
  return model;
}

void set_weights(const keras::Model& model, int number) {
  const auto value = static_cast<float>(number);
  model.set_weights({Tensor::of<float>({2, 1}, {value, value}), Tensor::of<float>({1}, {value})});
}

TEST(KerasCrashStates, KerasBackup) {
  const keras::Sequential model = trained_model();
  const keras::BackupOptions options{.directory = "mem://backups/of/fit"};
  expect_survives({.name = "Keras's backup",
                   .files = &memory_file_system(),
                   .save =
                       [&](int number) {
                         keras::TrainingBackup backup(options);
                         set_weights(model, number);
                         backup.save(*model.model()->trainer, number, std::to_string(number));
                         backup.finish(false);
                       },
                   .read =
                       [&] {
                         const keras::TrainingBackup backup(options);
                         return backup.state() ? std::stoi(*backup.state()) : 0;
                       }});
}

TEST(KerasCrashStates, KerasFiles) {
  const keras::Sequential model = trained_model();
  const std::string h5 = "mem://keras/models/model.h5";
  expect_survives(one_file("Keras's .h5", memory_file_system(), h5, [&](int number) {
    set_weights(model, number);
    model.save(h5);
  }));
  const std::string weights = "mem://keras/models/weights";
  expect_survives({.name = "Keras's weights, of one name",
                   .files = &memory_file_system(),
                   .save =
                       [&](int number) {
                         set_weights(model, number);
                         model.save_weights(weights);
                       },
                   .read =
                       [&] {
                         if (!bundle_exists(memory_file_system(), weights)) return 0;
                         model.load_weights(weights);
                         return static_cast<int>(model.get_weights()[1].data<float>()[0]);
                       }});
}

}  // namespace
}  // namespace systole::testing
