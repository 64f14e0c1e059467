// Callbacks of Keras, and callbacks that are objects of Python.
#include <algorithm>

#include "bindings.h"
#include "functions.h"
#include "keras.h"

namespace systole::python {

template <>
struct From<std::function<double(int64_t, double)>> {
  static std::function<double(int64_t, double)> get(nb::handle value, const Arguments&) {
    return [held = Held(nb::borrow(value))](int64_t epoch, double rate) {
      const nb::gil_scoped_acquire gil;
      return nb::cast<double>(nb::float_(nb::object(held.get()(epoch, rate))));
    };
  }
};
template <>
struct From<keras::callbacks::UpdateFreq> {
  static keras::callbacks::UpdateFreq get(nb::handle value, const Arguments&) {
    if (PyUnicode_Check(value.ptr())) return {nb::cast<std::string>(value).c_str()};
    return {nb::cast<int64_t>(value)};
  }
};
template <>
struct From<std::map<std::string, std::string>> {
  static std::map<std::string, std::string> get(nb::handle value, const Arguments&) {
    std::map<std::string, std::string> all;
    for (auto [key, text] : nb::borrow<nb::dict>(value)) all[nb::cast<std::string>(key)] = nb::cast<std::string>(text);
    return all;
  }
};

namespace {

namespace kc = keras::callbacks;

nb::dict logs_object(const keras::Logs& logs) {
  nb::dict values;
  for (const auto& [name, value] : logs) values[name.c_str()] = value;
  return values;
}

class PythonCallback : public keras::Callback {
 public:
  PythonCallback(nb::object object, bool each_batch) : object_(std::move(object)), each_batch_(each_batch) {}

  void on_train_begin() override {
    const nb::gil_scoped_acquire gil;
    nb::dict about;
    about["batch_size"] = params.batch_size;
    about["epochs"] = params.epochs;
    about["steps"] = params.steps;
    about["samples"] = params.samples;
    about["verbose"] = params.verbose;
    about["do_validation"] = params.do_validation;
    about["metrics"] = texts_object(params.metrics);
    object_.get().attr("set_params")(about);
    call("on_train_begin", nb::dict());
  }
  void on_train_end() override {
    const nb::gil_scoped_acquire gil;
    call("on_train_end", nb::dict());
  }
  void on_epoch_begin(int64_t epoch) override {
    const nb::gil_scoped_acquire gil;
    call("on_epoch_begin", epoch, nb::dict());
  }
  void on_epoch_end(int64_t epoch, keras::Logs& logs) override {
    const nb::gil_scoped_acquire gil;
    const nb::dict values = logs_object(logs);
    call("on_epoch_end", epoch, values);
    for (auto [name, value] : values) {
      if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) || nb::hasattr(value, "__float__")) {
        logs.set(nb::cast<std::string>(name), nb::cast<double>(nb::float_(nb::borrow(value))));
      }
    }
  }
  void on_batch_begin(int64_t batch) override {
    if (!each_batch_) return;
    const nb::gil_scoped_acquire gil;
    nb::dict values;
    values["batch"] = batch;
    values["size"] = params.batch_size;
    call("on_batch_begin", batch, values);
  }
  void on_batch_end(int64_t batch, const keras::Logs& logs) override {
    if (!each_batch_) return;
    const nb::gil_scoped_acquire gil;
    nb::dict values = logs_object(logs);
    values["batch"] = batch;
    values["size"] = params.batch_size;
    call("on_batch_end", batch, values);
  }
  bool needs_each_batch() const override { return each_batch_; }

 private:
  template <class... A>
  void call(const char* method, const A&... arguments) {
    const nb::object ends = object_.get().attr("_call_of_core")(method, arguments...);
    if (nb::cast<bool>(ends) && stop_training != nullptr) *stop_training = true;
  }

  Held object_;
  bool each_batch_;
};

// -- Callbacks of C++, by name: their arguments, and what makes one.
struct CallbackClass {
  std::string name;
  std::vector<std::string> arguments;
  std::function<keras::CallbackPtr(const Arguments&)> make;
};

template <class O, class... F>
CallbackClass of_options(const char* name, keras::CallbackPtr (*make)(const O&), const F&... fields) {
  CallbackClass made{name, {fields.name...}, nullptr};
  made.make = [=](const Arguments& a) {
    O options;
    (fields.set(options, a), ...);
    return make(options);
  };
  return made;
}

// With a first argument that stands before the options.
template <class O, class... F>
CallbackClass of_path(const char* name, const char* first, keras::CallbackPtr (*make)(const std::string&, const O&),
                      const F&... fields) {
  CallbackClass made{name, {first, fields.name...}, nullptr};
  made.make = [=](const Arguments& a) {
    O options;
    (fields.set(options, a), ...);
    return make(nb::cast<std::string>(nb::str(a.find(first))), options);
  };
  return made;
}

template <class O>
auto monitored(const char* name, keras::CallbackPtr (*make)(const O&), auto... fields) {
  return of_options(name, make, field("monitor", &O::monitor), fields...);
}

const std::vector<CallbackClass>& callback_classes() {
  using Stop = kc::EarlyStoppingOptions;
  using Rate = kc::ReduceLROnPlateauOptions;
  using Save = kc::ModelCheckpointOptions;
  using Board = kc::TensorBoardOptions;
  using Remote = kc::RemoteMonitorOptions;
  static const auto* all = new std::vector<CallbackClass>{
      monitored<Stop>("EarlyStopping", kc::EarlyStopping, field("min_delta", &Stop::min_delta),
                      field("patience", &Stop::patience), field("verbose", &Stop::verbose), field("mode", &Stop::mode),
                      field("baseline", &Stop::baseline), field("restore_best_weights", &Stop::restore_best_weights)),
      monitored<Rate>("ReduceLROnPlateau", kc::ReduceLROnPlateau, field("factor", &Rate::factor),
                      field("patience", &Rate::patience), field("verbose", &Rate::verbose), field("mode", &Rate::mode),
                      field("min_delta", &Rate::min_delta), field("cooldown", &Rate::cooldown),
                      field("min_lr", &Rate::min_lr)),
      of_path<Save>("ModelCheckpoint", "filepath", kc::ModelCheckpoint, field("monitor", &Save::monitor),
                    field("verbose", &Save::verbose), field("save_best_only", &Save::save_best_only),
                    field("save_weights_only", &Save::save_weights_only), field("mode", &Save::mode),
                    field("period", &Save::period)),
      of_path<kc::CSVLoggerOptions>("CSVLogger", "filename", kc::CSVLogger,
                                    field("separator", &kc::CSVLoggerOptions::separator),
                                    field("append", &kc::CSVLoggerOptions::append)),
      of_options<Board>("TensorBoard", kc::TensorBoard, field("log_dir", &Board::log_dir),
                        field("histogram_freq", &Board::histogram_freq), field("write_graph", &Board::write_graph),
                        field("write_images", &Board::write_images), field("update_freq", &Board::update_freq)),
      of_options<Remote>("RemoteMonitor", kc::RemoteMonitor, field("root", &Remote::root), field("path", &Remote::path),
                         field("field", &Remote::field), field("headers", &Remote::headers),
                         field("send_as_json", &Remote::send_as_json)),
      of_path<kc::BackupAndRestoreOptions>("BackupAndRestore", "backup_dir", kc::BackupAndRestore,
                                           field("save_freq", &kc::BackupAndRestoreOptions::save_freq),
                                           field("delete_checkpoint", &kc::BackupAndRestoreOptions::delete_checkpoint)),
      {"TerminateOnNaN", {}, [](const Arguments&) { return kc::TerminateOnNaN(); }},
      {"LearningRateScheduler", {"schedule", "verbose"}, [](const Arguments& a) {
         const nb::object verbose = a.find("verbose");
         return kc::LearningRateScheduler(From<std::function<double(int64_t, double)>>::get(a.find("schedule"), a),
                                          verbose.is_none() ? 0 : nb::cast<int>(verbose));
       }}};
  return *all;
}

}  // namespace

void bind_keras_callbacks(nb::module_& m) {
  nb::class_<KerasCallbackHandle>(m, "KerasCallback");
  m.def("keras_callback_classes", [] {
    nb::list all;
    for (const CallbackClass& made : callback_classes()) all.append(nb::make_tuple(made.name, texts_object(made.arguments)));
    return all;
  });
  m.def("keras_callback", [](const std::string& name, nb::dict values) {
    return building([&] {
      const auto found = std::ranges::find(callback_classes(), name, &CallbackClass::name);
      return KerasCallbackHandle{found->make({name, values})};
    });
  });
  m.def("keras_python_callback", [](nb::object object, bool each_batch) {
    return KerasCallbackHandle{std::make_shared<PythonCallback>(std::move(object), each_batch)};
  });
}

void bind_keras(nb::module_& m) {
  bind_keras_layers(m);
  bind_keras_functions(m);
  bind_keras_callbacks(m);
  bind_keras_models(m);
  bind_keras_data(m);
  bind_keras_images(m);
}

}  // namespace systole::python
