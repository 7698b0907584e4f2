// Properties of the members of a MemberRoom, looked up by index instead of by name, and the
// expressions that placements ask with (rules P6 to P8). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/model/member_property.h"

namespace muster::core {

/// "v1.34.1", "1.30", "v1.31.2+k3s1" as numbers; what follows '+' or '-' does not count, and
/// missing parts are 0.
using VersionNumbers = std::vector<std::int64_t>;
/// nullopt if the text is no such version.
std::optional<VersionNumbers> ReadVersion(std::string_view text);
/// Negative, 0 or positive, as the one is below, equal to or above the other.
int CompareVersions(const VersionNumbers& one, const VersionNumbers& other);

/// One property. What a member's facts tell comes before what is declared under the same name.
class ClusterProperty {
 public:
  /// `name` must outlive it.
  ClusterProperty(const std::string& name, const MemberRoom& room);

  const std::string& name() const { return *name_; }
  /// nullopt if the member does not have it, or not as a quantity.
  std::optional<PropertyAmount> Amount(const MemberRoom& room, std::size_t member) const;
  /// The version, or the text as declared (of a quantity too); null if there is none.
  const std::string* Text(const MemberRoom& room, std::size_t member) const;
  bool Known(const MemberRoom& room, std::size_t member) const;
  /// As a sentence shows it: "12", "48Gi", "v1.34.1"; "" if the member does not have it.
  std::string Shown(const MemberRoom& room, std::size_t member) const;

 private:
  enum class Source : std::uint8_t { kNodeCount, kVersion, kResource, kDeclared };
  std::optional<PropertyAmount> Observed(const MemberRoom::Member& member) const;

  const std::string* name_;
  Source source_ = Source::kDeclared;
  ResourceProperty resource_;
  std::int32_t index_ = -1;  // of the resource in the room
};

/// One expression of a propertySelector.
class PropertyTest {
 public:
  /// `expression` must outlive it.
  PropertyTest(const PropertyExpression& expression, const MemberRoom& room);

  /// A member without the property passes kDoesNotExist only, as in KubeFleet.
  bool Passes(const MemberRoom& room, std::size_t member) const;
  /// Why it does not pass: "resources.kubernetes-fleet.io/available-cpu is 4, must be at least 8".
  std::string Miss(const MemberRoom& room, std::size_t member) const;

 private:
  bool Listed(const MemberRoom& room, std::size_t member) const;

  const PropertyExpression* expression_;
  ClusterProperty property_;
  std::optional<VersionNumbers> version_;              // of kVersionProperty: what to compare with
  std::vector<std::optional<PropertyAmount>> values_;  // of kIn and kNotIn: those that are amounts
};

}  // namespace muster::core
