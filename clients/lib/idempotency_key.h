// Idempotency keys: each submission gets a fresh one, so that it can be sent again if its answer is
// lost, and the server still creates one job.
#pragma once

#include <string>

namespace muster::client {

/// A version-4 UUID from the kernel's random source.
std::string NewIdempotencyKey();

}  // namespace muster::client
