// Which function answers which procedure. A family of procedures is one file below procedures/,
// which registers what it knows:
//
//   void QuotaAvailability(const Case& test, Report* report) { ... }
//   const Registration kQuotaAvailability("quota-availability", QuotaAvailability);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/case.h"

namespace muster::conformance {

/// What came out differently in one case.
class Report {
 public:
  void Fail(std::string difference) { failures_.push_back(std::move(difference)); }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::vector<std::string> failures_;
};

/// Runs the operation on the case's inputs and records every difference to what it wants.
using Procedure = void (*)(const Case& test, Report* report);

/// Adds a procedure before main() runs.
class Registration {
 public:
  Registration(const char* name, Procedure procedure);
};

/// Null if no file knows it.
Procedure FindProcedure(std::string_view name);

}  // namespace muster::conformance
