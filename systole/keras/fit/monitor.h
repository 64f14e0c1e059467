// A metric that a callback watches, and the best value so far.
#pragma once

#include <string>

#include "systole/keras/training/callback.h"

namespace systole::keras {

class Monitor {
 public:
  // `callback` names the callback in errors. Errors: INVALID_ARGUMENT for another mode.
  Monitor(std::string callback, std::string name, const std::string& mode, double min_delta);

  // Resolves the name among those that the run reports. Errors: INVALID_ARGUMENT with these names.
  void begin(const FitParams& params);
  // The value in these logs; nullptr when it is not there.
  const double* value(const Logs& logs) const { return logs.find(name_); }
  bool better(double value, double than) const {
    return maximize_ ? value - min_delta_ > than : value + min_delta_ < than;
  }
  // Worse than any value.
  double worst() const;
  const std::string& name() const { return name_; }

 private:
  std::string callback_;
  std::string name_;
  bool maximize_;
  double min_delta_;
};

}  // namespace systole::keras
