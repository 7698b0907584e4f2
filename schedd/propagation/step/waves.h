// Waves: the order in which objects of a placement are applied on a member (rule P22).
// Pure.
#pragma once

#include <cstdint>

#include "schedd/model/resource_ref.h"

namespace muster::propagation {

/// 0 first. What is in one wave may be applied at the same time; a kind that is not known comes
/// last.
std::int32_t WaveOf(const ResourceRef& ref);

/// Strict order over objects: by wave, then kind, group, namespace and name.
bool AppliedBefore(const ResourceRef& a, const ResourceRef& b);

/// The same object of a cluster, in whatever version of its kind.
bool IsSameObject(const ResourceRef& a, const ResourceRef& b);

}  // namespace muster::propagation
