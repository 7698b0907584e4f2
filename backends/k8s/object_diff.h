// Where an object on a member differs from its manifest (rule P26: drifts, differences), and the
// merge patch that removes the differences.
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

/// "in 3 places", and how many of them are kept if that is fewer.
std::string InPlaces(const Differences& found);

/// Compares everything but the status and those parts of metadata that the API server or Muster
/// write: of metadata only labels and annotations count. A null or empty value equals an absent
/// one; a quota in another notation (1000m, 1) is the same. `whole`: fields that only the member
/// has count too. Values of Secrets are never shown.
Differences CompareObjects(const json::object& member, const json::object& hub, bool whole);

/// The difference of an object that is absent on the member.
Differences AbsentObject();

/// A merge patch (RFC 7386) that gives `live` everything that `wanted` has, and removes what
/// `last`, the manifest before, had and `wanted` lacks. Lists are replaced as a whole. Empty if
/// nothing differs.
json::object ThreeWayPatch(const json::object& last, const json::object& wanted,
                           const json::object& live);

}  // namespace muster::k8s
