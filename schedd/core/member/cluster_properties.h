// Properties of the members of a MemberRoom, and the expressions over them in placements (rules P6
// to P8). Names are resolved once, so that a lookup is by index. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/model/member_property.h"

namespace muster::core {

/// "v1.34.1", "1.30" or "v1.31.2+k3s1" as numbers. The part from '+' or '-' on is ignored; missing
/// parts count as 0.
using VersionNumbers = std::vector<std::int64_t>;
/// nullopt if the text is not such a version.
std::optional<VersionNumbers> ReadVersion(std::string_view text);
/// Negative, 0 or positive, as `one` is below, equal to or above `other`.
int CompareVersions(const VersionNumbers& one, const VersionNumbers& other);

/// One property. A value from the member's own facts comes before a declared one of the same name.
class ClusterProperty {
 public:
  /// `name` must outlive it.
  ClusterProperty(const std::string& name, const MemberRoom& room);

  const std::string& name() const { return *name_; }
  /// nullopt if the member does not have the property as a quantity.
  std::optional<PropertyAmount> Amount(const MemberRoom& room, std::size_t member) const;
  /// The version, or the text as declared (also of a quantity); null if there is none.
  const std::string* Text(const MemberRoom& room, std::size_t member) const;
  /// True if the member has the property, as a quantity or a text.
  bool Known(const MemberRoom& room, std::size_t member) const;
  /// The value as sentences show it: "12", "48Gi", "v1.34.1"; "" if the member does not have it.
  std::string Shown(const MemberRoom& room, std::size_t member) const;

 private:
  enum class Source : std::uint8_t { kNodeCount, kVersion, kResource, kDeclared };
  std::optional<PropertyAmount> Observed(const MemberRoom::Member& member) const;

  const std::string* name_;
  Source source_ = Source::kDeclared;
  ResourceProperty resource_;
  std::int32_t index_ = -1;  // the room's index of the resource; -1: no member declares it
};

/// One expression of a propertySelector.
class PropertyTest {
 public:
  /// `expression` must outlive it.
  PropertyTest(const PropertyExpression& expression, const MemberRoom& room);

  /// True if the member meets the expression. A member without the property meets only
  /// kDoesNotExist and no other operator, as in KubeFleet.
  bool Passes(const MemberRoom& room, std::size_t member) const;
  /// Why the member does not meet it: "resources.kubernetes-fleet.io/available-cpu is 4, must be at
  /// least 8".
  std::string Miss(const MemberRoom& room, std::size_t member) const;

 private:
  bool Listed(const MemberRoom& room, std::size_t member) const;

  const PropertyExpression* expression_;
  ClusterProperty property_;
  std::optional<VersionNumbers> version_;  // only kVersionProperty: the version to compare with
  std::vector<std::optional<PropertyAmount>> values_;  // only kIn and kNotIn: values as amounts
};

}  // namespace muster::core
