// Where the objects of attempts are on members: their kind and name there. Pure.
#pragma once

#include <cstddef>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"

namespace muster {

/// The row of a job's current attempt, decided and not made yet.
DispatchRow IntentOf(const JobRecord& job);
/// The object of a row, as its member knows it.
RemoteObject ObjectOf(const DispatchRow& row);
/// Equal for rows that would hold one name on one member; others may share it.
std::size_t NameHash(const DispatchRow& row);
/// True if the rows are of one object name.
bool SameName(const DispatchRow& a, const DispatchRow& b);

}  // namespace muster
