// Where the progress of fit() and evaluate() goes.
#include <cstdio>
#include <string>

#include "bindings.h"
#include "keras.h"

namespace systole::python {
namespace {

ssize_t write_to_python(void* object, const char* data, size_t size) {
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object text =
        nb::steal(PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "replace"));
    nb::handle(static_cast<PyObject*>(object)).attr("write")(text);
    nb::handle(static_cast<PyObject*>(object)).attr("flush")();
  } catch (const nb::python_error&) {
    return 0;  // what cannot be shown ends no training
  }
  return static_cast<ssize_t>(size);
}

// Of a notebook, or of an object that says that it is a terminal.
bool shows_bars(nb::handle out) {
  const nb::dict modules(nb::module_::import_("sys").attr("modules"));
  if (modules.contains("ipykernel")) return true;
  return nb::hasattr(out, "isatty") && nb::cast<bool>(nb::bool_(nb::object(out.attr("isatty")())));
}

}  // namespace

PythonOutput::PythonOutput() {
  const nb::object sys = nb::module_::import_("sys");
  out_ = sys.attr("stdout");
  if (out_.is_none() || out_.is(sys.attr("__stdout__"))) return;
  file_ = ::fopencookie(out_.ptr(), "w", {.write = write_to_python});
  if (file_ != nullptr) output_.emplace(file_, shows_bars(out_));
}

PythonOutput::~PythonOutput() {
  output_.reset();
  if (file_ != nullptr) std::fclose(file_);
}

}  // namespace systole::python
