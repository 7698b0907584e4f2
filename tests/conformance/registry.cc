#include "tests/conformance/registry.h"

#include <map>

namespace muster::conformance {
namespace {

std::map<std::string, Procedure, std::less<>>& Procedures() {
  static std::map<std::string, Procedure, std::less<>> procedures;
  return procedures;
}

}  // namespace

Registration::Registration(const char* name, Procedure procedure) {
  Procedures()[name] = procedure;
}

Procedure FindProcedure(std::string_view name) {
  const auto found = Procedures().find(name);
  return found == Procedures().end() ? nullptr : found->second;
}

}  // namespace muster::conformance
