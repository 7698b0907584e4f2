// The kind and name that the object of an attempt has on its member. Pure.
#pragma once

#include <cstddef>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"

namespace muster {

/// The row of the job's current attempt in the state Intent: decided, and not created yet.
DispatchRow IntentOf(const JobRecord& job);
/// The object of a row, as its member knows it.
RemoteObject ObjectOf(const DispatchRow& row);
/// Equal for rows that would hold the same name on the same member; rows of other names may have an
/// equal hash too.
std::size_t NameHash(const DispatchRow& row);
/// True if both rows name the same object on the same member.
bool SameName(const DispatchRow& a, const DispatchRow& b);

}  // namespace muster
