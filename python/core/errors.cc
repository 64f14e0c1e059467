// Errors of the library as exceptions of Python.
#include "bindings.h"
#include "functions.h"
#include "systole/base/error.h"
#include "systole/train/loop/signals.h"

namespace systole::python {
namespace {

namespace nb = nanobind;

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    // tf.errors has a class for each code.
    nb::object make = nb::module_::import_("systole_tpu.tensorflow.errors").attr("make_error");
    nb::object made = make(static_cast<int>(error.code()), error.message().c_str());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (const ArgumentError& error) {
    PyErr_SetString(error.is_type ? PyExc_TypeError : PyExc_ValueError, error.to_string().c_str());
  }
}

}  // namespace

void raise_stopped(std::string_view signal) {
  if (signal == "SIGINT") {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } else {
    PyErr_SetObject(PyExc_SystemExit, nb::int_(StopSignals::exit_code()).ptr());
  }
  throw nb::python_error();
}

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace systole::python
