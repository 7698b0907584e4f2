// What a process of a job may not do, whoever its user is (but root): gain rights, hold
// capabilities, or make system calls that act on the kernel instead of the process (rule U63).
// For the child between fork and exec.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster::local {

/// Empties the set of capabilities that programs can gain. Before the user changes; without the
/// right to do so it has no effect, because such a process cannot gain any.
void DropBoundingSet();

/// Sets no_new_privs and gives up all capabilities. After the user has changed. "", or why it
/// failed.
std::string GiveUpPrivileges();

/// Makes the system calls of the deny list fail with EPERM, for this process and its children.
/// After GiveUpPrivileges, last before exec. "", or why it failed.
std::string LimitSystemCalls();

/// The limits of a login: no core files unless the program raises its limit, and the system's usual
/// number of open files.
void SetUsualLimits();

/// Sets soft limits by the names of prlimit(1), none above its hard limit; -1: the hard limit.
/// A name that is unknown has no effect.
void SetSoftLimits(const std::vector<std::pair<std::string, std::int64_t>>& limits);

}  // namespace muster::local
