// Run by mpirun, or alone: a TPUEstimator that trains on all processes, or evaluates.
//   mpi_train train --dir DIR --cores 4 [--model mnist] [--input shard] [--steps 40] ...
//   mpi_train evaluate --dir DIR --cores 4
//   mpi_train fit --dir DIR --cores 4      a Keras model, with fit() and evaluate()
//   mpi_train compare DIR OTHER      the variables of the newest checkpoints, bit for bit
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "systole/base/command_line.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/csv.h"
#include "systole/io/tables/idx.h"
#include "systole/keras/keras.h"
#include "systole/keras_estimator/model_to_estimator.h"
#include "systole/runtime/process_group.h"
#include "systole/systole.h"

namespace {

constexpr int kSkipped = 77;

int rank() {
  const systole::runtime::ProcessGroup* const group = systole::runtime::process_group();
  return group == nullptr ? 0 : group->rank();
}

int64_t num_processes() {
  const systole::runtime::ProcessGroup* const group = systole::runtime::process_group();
  return group == nullptr ? 1 : group->size();
}

struct Flags {
  std::string dir;
  std::string model = "iris";
  std::string input = "host";  // shard: an input_fn for each core
  int64_t cores = 4;
  int64_t batch = 32;  // of all cores
  int64_t steps = 40;
  int64_t iterations = 4;
  double rate = 0.05;
  // Faults of rank 1, after this step; 0: none.
  int64_t kill_at = 0;
  int64_t hang_at = 0;
  bool hang_first = false;  // in its input_fn
  double slow_secs = 0;     // how long its input_fn sleeps
  double other_rate = 0;    // the learning rate of rank 1, for another program
};

// A signal that stops or ends rank 1 after a step.
class Fault : public st::SessionRunHook {
 public:
  Fault(int64_t step, int signal) : step_(step), signal_(signal) {}
  void after_run(st::RunContext& context, std::span<const st::Tensor>) override {
    if (rank() == 1 && context.global_step() == step_) std::raise(signal_);
  }

 private:
  int64_t step_;
  int signal_;
};

st::Output iris_logits(st::Output x, bool training) {
  x = st::layers::dense(x, {.units = 16, .activation = st::relu});
  x = st::layers::dropout(x, {.rate = 0.25, .training = training});
  return st::layers::dense(x, {.units = 3});
}

st::Output mnist_logits(st::Output x, bool training) {
  x = st::reshape(x, {-1, 28, 28, 1});
  for (const int64_t filters : {32, 64}) {
    x = st::layers::conv2d(x, {.filters = filters,
                               .kernel_size = {5, 5},
                               .padding = st::Padding::same,
                               .activation = st::relu});
    x = st::layers::batch_normalization(x, {.training = training});
    x = st::layers::max_pooling2d(x, {.pool_size = {2, 2}, .strides = 2});
  }
  x = st::layers::dense(st::reshape(x, {-1, 7 * 7 * 64}), {.units = 128, .activation = st::relu});
  x = st::layers::dropout(x, {.rate = 0.4, .training = training});
  return st::layers::dense(x, {.units = 10});
}

st::TPUEstimatorSpec model_fn(const st::Nest<st::Output>& features,
                              const st::Nest<st::Output>& labels, st::Mode mode,
                              const st::Params& params) {
  const st::Output x = features.leaf();
  const bool is_iris = x.shape()[1] < 28;
  const bool training = mode == st::ModeKeys::TRAIN;
  const st::Output logits = is_iris ? iris_logits(x, training) : mnist_logits(x, training);
  const st::Output loss =
      st::losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  auto optimizer = st::CrossShardOptimizer(st::AdamOptimizer(params["rate"].as<double>()));
  return {
      .mode = mode,
      .loss = loss,
      .train_op = optimizer.minimize(loss, {.global_step = st::get_global_step()}),
      .eval_metrics = {
          [](const st::Output& truth, const st::Output& l) -> st::MetricMap {
            const st::Output guess = st::argmax(l, {.axis = 1, .output_type = st::DType::s32});
            return {{"accuracy", st::metrics::accuracy({.labels = truth, .predictions = guess})}};
          },
          {labels, logits}}};
}

struct Data {
  st::Tensor x, y;
};

// Every third flower is left out, so that the rest fills no number of batches.
Data iris() {
  st::CsvReader reader(st::default_file_system().open("examples/data/iris.csv"));
  std::vector<st::CsvColumn> columns;
  for (size_t i = 0; i < 4; ++i) columns.push_back({i, st::DType::f32});
  columns.push_back({4, st::DType::string});
  const std::vector<st::Tensor> table = read_csv_columns(reader, columns);
  constexpr int64_t kFlowers = 100;
  Data data{st::Tensor(st::DType::f32, {kFlowers, 4}), st::Tensor(st::DType::s32, {kFlowers})};
  const std::vector<std::string> species = {"setosa", "versicolor", "virginica"};
  for (int64_t i = 0; i < kFlowers; ++i) {
    const auto row = static_cast<size_t>(i + i / 2);
    for (size_t c = 0; c < 4; ++c) {
      data.x.data<float>()[static_cast<size_t>(i) * 4 + c] = table[c].data<float>()[row];
    }
    const std::string& name = table[4].data<std::string>()[row];
    data.y.data<int32_t>()[i] = static_cast<int32_t>(
        std::ranges::find_if(species, [&](const auto& s) { return name.ends_with(s); }) -
        species.begin());
  }
  return data;
}

Data mnist() {
  const std::string path = "../shared/data/mnist/train-";
  if (!st::default_file_system().exists(path + "images-idx3-ubyte.gz")) {
    std::printf("skipped: needs ../shared/data/mnist\n");
    std::exit(kSkipped);
  }
  st::FileSystem& files = st::default_file_system();
  constexpr int64_t kImages = 2000;
  const st::Tensor images = st::read_idx(files, path + "images-idx3-ubyte.gz").slice(0, kImages);
  const st::Tensor labels = st::read_idx(files, path + "labels-idx1-ubyte.gz").slice(0, kImages);
  Data data{images.reshape({kImages, 784}).cast(st::DType::f32).clone(),
            labels.cast(st::DType::s32)};
  for (float& pixel : data.x.data<float>()) pixel = pixel / 255 - 0.5F;
  return data;
}

// The part of each batch of all hosts that this host reads, or that one core reads.
st::Dataset part_of(const st::Dataset& examples, const st::Params& params, bool for_core) {
  const auto context = params["context"].as<st::TPUContext>();
  const auto& call = context.current_input_fn_deployment();
  const int64_t parts = for_core ? call.total_invocations : context.num_hosts();
  const int64_t part = for_core ? call.invocation_index : context.current_host();
  const int64_t rows = params["batch_size"];
  return examples.batch(rows * parts, /*drop_remainder=*/true).map([=](st::Output x, st::Output y) {
    return std::pair(st::slice(x, {part * rows, 0}, {rows, x.shape()[1]}),
                     st::slice(y, {part * rows}, {rows}));
  });
}

struct Program {
  explicit Program(const Flags& given)
      : flags(given),
        data(given.model == "mnist" ? mnist() : iris()),
        estimator(given.model == "keras" ? keras_estimator(given) : plain_estimator(given)) {}

  static st::TPUEstimator plain_estimator(const Flags& flags) {
    const bool other = rank() == 1 && flags.other_rate > 0;
    return st::TPUEstimator({.model_fn = model_fn,
                             .model_dir = flags.dir,
                             .config = config(flags),
                             .params = {{"rate", other ? flags.other_rate : flags.rate}},
                             .train_batch_size = flags.batch,
                             .eval_batch_size = flags.batch});
  }

  static st::TPUEstimator keras_estimator(const Flags& flags) {
    st::set_random_seed(5);
    st::keras::Sequential model;
    model.add(st::keras::layers::Dense(16, {.activation = "relu", .input_shape = {{4}}}));
    model.add(st::keras::layers::Dense(3, {.activation = "softmax"}));
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    return st::keras::estimator::model_to_estimator(model, {.model_dir = flags.dir,
                                                            .config = config(flags),
                                                            .train_batch_size = flags.batch,
                                                            .eval_batch_size = flags.batch});
  }

  static st::RunConfig config(const Flags& flags) {
    const bool shard = flags.input == "shard";
    st::TPUConfig tpu{.iterations_per_loop = flags.iterations,
                      .num_shards = flags.cores * num_processes()};
    if (shard) tpu.per_host_input_for_training = st::InputPipelineConfig::PER_SHARD_V1;
    return {.master = fmt::format("local:{}", flags.cores),
            .tf_random_seed = 42,
            .save_checkpoints_steps = 8,
            .tpu_config = tpu};
  }

  st::Dataset examples() const {
    return st::Dataset::from_tensor_slices(st::Element::tuple({data.x, data.y}));
  }

  void begin_late() const {
    if (flags.hang_first) std::raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.slow_secs));
  }

  void train() {
    st::HookList hooks;
    if (flags.kill_at > 0) hooks.push_back(std::make_shared<Fault>(flags.kill_at, SIGKILL));
    if (flags.hang_at > 0) hooks.push_back(std::make_shared<Fault>(flags.hang_at, SIGSTOP));
    const bool shard = flags.input == "shard";
    estimator.train(
        [&](const st::Params& params) {
          if (rank() == 1) begin_late();
          return part_of(examples().shuffle(1000, {.seed = 3}).repeat(), params, shard);
        },
        {.max_steps = flags.steps, .hooks = hooks});
    const st::Tensor step = estimator.get_variable_value("global_step");
    if (rank() == 0) std::printf("trained to step %s\n", step.to_string().c_str());
  }

  // Trains, then evaluates on all hosts.
  void train_and_evaluate() {
    const auto result = st::train_and_evaluate(
        estimator,
        {.input_fn =
             [&](const st::Params& params) {
               return part_of(examples().shuffle(1000, {.seed = 3}).repeat(), params, false);
             },
         .max_steps = flags.steps},
        {.input_fn = [&](const st::Params& params) { return part_to_evaluate(params); }});
    if (rank() == 0) print(result);
  }

  // The last batch is not full, and hosts have different numbers of batches.
  st::Dataset part_to_evaluate(const st::Params& params) const {
    const auto context = params["context"].as<st::TPUContext>();
    return examples()
        .shard(context.num_hosts(), context.current_host())
        .batch(params["batch_size"]);
  }

  void evaluate() {
    const st::Evaluation result =
        estimator.evaluate([&](const st::Params& params) { return part_to_evaluate(params); });
    if (rank() == 0) print(result);
  }

  static void print(const st::Evaluation& result) {
    std::printf("%lld examples, accuracy %.17g, loss %.5f\n",
                static_cast<long long>(result.examples()), result["accuracy"], result["loss"]);
  }

  const Flags flags;
  const Data data;
  st::TPUEstimator estimator;
};

// Keras's fit() and evaluate() on all processes.
void keras_fit(const Flags& flags) {
  st::set_random_seed(5);
  const Data data = iris();
  st::keras::Sequential model;
  model.add(st::keras::layers::Dense(16, {.activation = "relu", .input_shape = {{4}}}));
  model.add(st::keras::layers::BatchNormalization());
  model.add(st::keras::layers::Dropout(0.25));
  model.add(st::keras::layers::Dense(3, {.activation = "softmax"}));
  model.compile({.optimizer = "adam",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {st::keras::metrics::SparseCategoricalAccuracy()}});
  model.place({.target = fmt::format("local:{}", flags.cores), .replicas = flags.cores});
  const st::keras::History history =
      model.fit(data.x, data.y,
                {.batch_size = flags.batch, .epochs = 3, .verbose = 0, .validation_split = 0.2});
  const st::keras::Scores scores =
      model.evaluate(data.x, data.y, {.batch_size = flags.batch, .verbose = 0});
  if (rank() > 0) return;
  model.save_weights(flags.dir + "/weights");
  std::printf("%zu epochs, loss %.17g, accuracy %.17g\n", history.epoch.size(), scores[0],
              scores[1]);
}

int compare(const std::string& one, const std::string& other) {
  int different = 0;
  int equal = 0;
  for (const auto& [name, shape] : st::checkpoint_utils::list_variables(one)) {
    const st::Tensor a = st::checkpoint_utils::load_variable(one, name);
    const st::Tensor b = st::checkpoint_utils::load_variable(other, name);
    if (a.identical(b)) {
      ++equal;
      continue;
    }
    ++different;
    std::printf("%s differs: %s, %s\n", name.c_str(), a.to_string(3).c_str(),
                b.to_string(3).c_str());
  }
  std::printf("%d variables are equal, %d differ\n", equal, different);
  return different == 0 && equal > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "compare") == 0) return compare(argv[2], argv[3]);
  st::CommandLine line("mpi_train", "Trains or evaluates on all processes that mpirun starts.");
  Flags flags;
  std::string command = "train";
  line.option("command", command, "train, evaluate, train_and_evaluate, fit, or compare DIR OTHER");
  line.option("--batch", flags.batch, "Examples of all cores in a step");
  line.option("--dir", flags.dir, "model_dir");
  line.option("--model", flags.model, "iris, mnist or keras");
  line.option("--input", flags.input, "host: an input_fn a process; shard: one a core");
  line.option("--cores", flags.cores, "Cores of each process");
  line.option("--steps", flags.steps);
  line.option("--iterations", flags.iterations, "Steps of a loop");
  line.option("--rate", flags.rate);
  line.option("--kill_at", flags.kill_at, "Rank 1 is killed after this step");
  line.option("--hang_at", flags.hang_at, "Rank 1 hangs after this step");
  line.flag("--hang_first", flags.hang_first, "Rank 1 hangs before the first step");
  line.option("--slow_secs", flags.slow_secs, "How long rank 1 sleeps before the first step");
  line.option("--other_rate", flags.other_rate, "The learning rate of rank 1");
  line.on_run([&] {
    if (command == "fit") return keras_fit(flags);
    Program program(flags);
    if (command == "evaluate") {
      program.evaluate();
    } else if (command == "train_and_evaluate") {
      program.train_and_evaluate();
    } else {
      program.train();
    }
  });
  return line.run(argc, argv);
}
