// Waves: the order in which objects of a placement are applied on a member (rule P22).
// Pure.
#pragma once

#include <cstdint>

#include "schedd/model/resource_ref.h"

namespace muster::propagation {

/// The number of the wave; wave 0 is applied first. Objects of one wave may be applied at the same
/// time; kinds that are not listed come last.
std::int32_t WaveOf(const ResourceRef& ref);

/// Strict order over objects: by wave, then kind, group, namespace and name.
bool AppliedBefore(const ResourceRef& a, const ResourceRef& b);

/// True if both name the same object of a cluster, whatever the version of its kind.
bool IsSameObject(const ResourceRef& a, const ResourceRef& b);

}  // namespace muster::propagation
