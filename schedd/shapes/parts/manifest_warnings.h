// What is taken from a job's manifest but is probably a mistake: fields of a pod template that
// Kubernetes does not know (they are kept and passed on, rule C6) and amounts of a fraction of
// a byte. In the words of an API server.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::shapes {

/// `unknown field "spec.template.spec.containers[0].comand"` and so on, in the order of the
/// manifest, at most limits::kManifestWarnings of both kinds together; none of what is no job.
struct ManifestWarnings {
  std::vector<std::string> unknown_fields;
  std::vector<std::string> others;

  /// Both, unknown fields first.
  std::vector<std::string> All() const;
};
ManifestWarnings WarningsOf(const json::value& manifest);

}  // namespace muster::shapes
