// Where an object on a member is not as it should be (rule P26: drifts, differences), and the
// merge patch that makes it so.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedd/model/work.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// At most limits::kDifferencesKept places, each value of at most limits::kDifferenceBytes.
struct Differences {
  std::vector<Difference> kept;
  std::size_t total = 0;
  bool none() const { return total == 0; }
};

/// Compares all but status and what the API server or Muster write into metadata; of metadata
/// labels and annotations count. What is null or empty is as if it were absent; a quota that is
/// written in another way (1000m, 1) is the same. `whole`: fields that only the member has count
/// too. Values of Secrets are never shown.
Differences CompareObjects(const json::object& member, const json::object& hub, bool whole);

/// The whole object as one difference: it is absent on the member.
Differences AbsentObject();

/// A merge patch (RFC 7386) that makes `live` have all that `wanted` has, and takes away what
/// `last`, the manifest before, had and `wanted` has not. Lists are replaced as a whole. Empty if
/// there is nothing to do.
json::object ThreeWayPatch(const json::object& last, const json::object& wanted,
                           const json::object& live);

}  // namespace muster::k8s
