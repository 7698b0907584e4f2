// Overrides, which change configuration objects for single members, and envelopes, which hold
// objects that have no meaning for Muster itself (rules P28, P29). Plain values.
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
  /// JSON text with variables; "" for kRemove.
  std::string value;
  bool operator==(const JsonPatch&) const = default;
};

struct OverrideRule {
  /// Selectors of members, one of which must match; empty: every member; nullopt: none.
  std::optional<std::vector<LabelSelector>> clusters;
  /// overrideType Delete: these members do not get the object.
  bool remove = false;
  std::vector<JsonPatch> patches;
  bool operator==(const OverrideRule&) const = default;
};

/// ClusterResourceOverride or ResourceOverride.
struct ResourceOverride {
  std::string ns;  // "": a ClusterResourceOverride
  std::string name;
  /// The placement that it is for; "": every placement.
  std::string placement;
  /// `placement` is a ClusterResourcePlacement.
  bool placement_of_cluster = false;
  /// By name; a Namespace stands for all objects in it too.
  std::vector<ResourceRef> resources;
  /// Applied in order.
  std::vector<OverrideRule> rules;
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
