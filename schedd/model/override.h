// What is changed of configuration objects on their way to members, and what is carried to them
// without having a meaning here: overrides and envelopes (rules P28, P29). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/model/resource_ref.h"
#include "schedd/model/scheduling.h"

namespace muster {

enum class PatchOp : std::uint8_t { kAdd, kRemove, kReplace };

/// One operation of a JSON Patch (RFC 6902).
struct JsonPatch {
  PatchOp op = PatchOp::kAdd;
  std::string path;
  std::string value;  // JSON text, variables and all; "" for kRemove
  bool operator==(const JsonPatch&) const = default;
};

struct OverrideRule {
  /// Labels of members, one term of which must match; empty: every member; nullopt: none.
  std::optional<std::vector<LabelSelector>> clusters;
  bool remove = false;  // overrideType Delete: the object is not for these members
  std::vector<JsonPatch> patches;
  bool operator==(const OverrideRule&) const = default;
};

/// ClusterResourceOverride or ResourceOverride.
struct ResourceOverride {
  std::string ns;  // "": a ClusterResourceOverride
  std::string name;
  std::string placement;               // the one that it is for; "": every one
  bool placement_of_cluster = false;   // `placement` is a ClusterResourcePlacement
  std::vector<ResourceRef> resources;  // by name; of a Namespace: with all that lies in it
  std::vector<OverrideRule> rules;     // the last one that says something counts
  bool operator==(const ResourceOverride&) const = default;
};

/// ClusterResourceEnvelope or ResourceEnvelope.
struct ResourceEnvelope {
  struct Item {
    std::string key;  // of spec.data
    ResourceRef ref;
    std::string manifest;  // JSON text
    bool operator==(const Item&) const = default;
  };
  std::string ns;  // "": a ClusterResourceEnvelope
  std::string name;
  std::vector<Item> items;  // by key
  bool operator==(const ResourceEnvelope&) const = default;
};

}  // namespace muster
