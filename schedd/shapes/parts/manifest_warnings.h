// Warnings for a job's manifest that is accepted but probably has a mistake: fields of a pod
// template that Kubernetes does not know (they are kept and passed on, rule C6) and amounts of a
// fraction of a byte. The sentences are those of an API server.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::shapes {

/// Such as `unknown field "spec.template.spec.containers[0].comand"`, in the order of the manifest,
/// at most limits::kManifestWarnings of both kinds together. Empty for a manifest that is no job.
struct ManifestWarnings {
  std::vector<std::string> unknown_fields;
  std::vector<std::string> others;

  /// All warnings, unknown fields first.
  std::vector<std::string> All() const;
};
ManifestWarnings WarningsOf(const json::value& manifest);

}  // namespace muster::shapes
