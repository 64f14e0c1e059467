#include "tpu_check.h"

#include <nlohmann/json.hpp>

#include "bindings.h"
#include "runs.h"
#include "systole/estimator/check_run.h"

namespace systole::python {

TPUCheckOptions check_options_of(nb::dict keywords) {
  TPUCheckOptions options;
  for (auto [keyword, value] : keywords) {
    const std::string name = nb::cast<std::string>(keyword);
    if (value.is_none()) continue;
    if (name == "compile") {
      options.compile = nb::cast<std::string>(value);
    } else if (name == "tpu_library") {
      options.tpu_library = nb::cast<std::string>(nb::str(value));
    } else if (name == "effort") {
      const std::string effort = nb::cast<std::string>(nb::str(value));
      if (effort != "full" && effort != "low") {
        throw nb::value_error(fmt::format("effort: got '{}', expected 'full' or 'low'", effort).c_str());
      }
      options.low_effort = effort == "low";
    } else if (name == "time_limit") {
      options.max_seconds = nb::cast<double>(value);
    } else if (name == "save") {
      options.save = nb::cast<std::string>(nb::str(value));
    } else {
      throw nb::type_error(fmt::format("got an unexpected keyword argument '{}'", name).c_str());
    }
  }
  return options;
}

void bind_tpu_check(nb::module_& m) {
  nb::class_<CheckReport>(m, "CheckReport")
      .def_prop_ro("ok", &CheckReport::ok)
      .def("__str__", &CheckReport::to_string)
      .def("to_dict", [](const CheckReport& report) {
        const std::string text = report.to_json().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return nb::module_::import_("json").attr("loads")(text);
      });
  m.def("check_run", [](std::shared_ptr<Graph> graph, nb::list fetches, nb::dict shapes, nb::dict keywords) {
    std::vector<Fetch> wanted;
    for (nb::handle fetch : fetches) wanted.push_back(fetch_of(fetch));
    std::vector<FeedShape> feeds;
    for (auto [key, shape] : shapes) feeds.emplace_back(key_of(key), shape_of_object(shape));
    const TPUCheckOptions options = check_options_of(keywords);
    const nb::gil_scoped_release unlocked;
    return check_run(wanted, feeds, options, *graph);
  });
}

}  // namespace systole::python
