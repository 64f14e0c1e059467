// tf.Session as Python holds it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runs.h"
#include "systole/base/error.h"
#include "systole/session/session.h"
#include "values.h"

namespace systole::python {

// Without a session once it is closed: that ends the threads of its data sets, which may want the GIL.
struct SessionHandle {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Session> session;
  std::string target;
  Runs runs;

  SessionHandle(std::shared_ptr<Graph> its_graph, const std::shared_ptr<Session>& opened)
      : graph(std::move(its_graph)), session(opened), target(opened->target()), runs(opened) {}

  // Errors: FAILED_PRECONDITION for a closed one.
  std::shared_ptr<Session> open() const {
    if (session == nullptr) throw failed_precondition("Session: Attempted to use a closed Session");
    return session;
  }
  void close() {
    runs.clear();
    session.reset();
  }
};

// A session of Python's for one that C++ owns, while the call lasts.
nb::object borrowed_session(Session& session);

}  // namespace systole::python
