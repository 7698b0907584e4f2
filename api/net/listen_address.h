// Where a server listens: from what an administrator writes to the address that is bound.
#pragma once

#include <string>

#include "schedd/base/result.h"

namespace muster::net {

/// The IP address to bind for `host`: an IP address as it is (0.0.0.0 and :: are all of them),
/// localhost as 127.0.0.1, the name of a network interface as its first address, any other name as
/// the first address that it resolves to. kInvalidArgument if it is none of these. May ask the
/// resolver. Thread-safe.
Result<std::string> ListenAddress(const std::string& host);

/// Done if a server may listen on `host`, as an administrator writes it: beyond loopback only with
/// TLS (rule U43). Without TLS names are not resolved, for a name may lead anywhere tomorrow.
/// `api` begins the sentence of the error, kFailedPrecondition.
Status MayListen(const std::string& api, const std::string& host, bool tls);

}  // namespace muster::net
