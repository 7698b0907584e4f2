// The user that the kernel names in place of those it cannot name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::net {

/// In a user namespace that does not know all users of the host, such as a rootless container, the
/// kernel tells every user without a number there as the overflow uid, usually 65534
/// (user_namespaces(7)). That uid then is nobody's account: anybody may be behind it. nullopt: this
/// process's namespace knows all users, so every uid is what it says. Asks /proc once.
/// Thread-safe.
std::optional<std::uint32_t> UnmappedUser();

/// The same from the texts of /proc/self/uid_map and /proc/sys/kernel/overflowuid. A map that
/// cannot be read counts as one that is not whole.
std::optional<std::uint32_t> UnmappedUserOf(std::string_view uid_map,
                                            std::string_view overflow_uid);

}  // namespace muster::net
