// The daemon's configuration of its lead: flags standby, lease-ttl and advertise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/limits_lease.h"
#include "schedd/base/random.h"
#include "schedd/base/result.h"
#include "schedd/daemon/tls_config.h"

namespace muster {

struct LeaseConfig {
  /// Leaves a free lead to other daemons when it starts.
  bool standby = false;
  std::int64_t ttl_ms = limits::kLeaseTtlMs;
  /// Where clients of other daemons find this one: "https://HOST:PORT"; "": made of `rest`.
  std::string advertise;
};

/// Takes the value of a key of this section; any other key is left alone. kInvalidArgument with a
/// sentence.
Status TakeLeaseKey(const std::string& key, const std::string& value, LeaseConfig* out);

/// What is wrong with the section as a whole. `shared`: the database may have other daemons.
std::vector<FieldError> CheckLease(const LeaseConfig& config, bool shared);

/// The address that this daemon puts into its lease. `port` is that which `rest` was bound to. A
/// host that means "every address" becomes the name of this host.
std::string AdvertisedAddress(const LeaseConfig& config, const HostPort& rest, int port, bool tls);

/// The name of this host.
std::string HostName();

/// Names this data directory on this host, in all the network: a daemon that finds its own name in
/// the lease knows that the process that took it has ended. Made at the first start; the directory
/// must be locked. kUnavailable if its file cannot be read or written.
Result<std::string> LeaseId(const std::string& data_dir, Random& random);

}  // namespace muster
