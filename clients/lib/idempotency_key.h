// A fresh key per invocation, so that a submission whose answer was lost can be sent again safely.
#pragma once

#include <string>

namespace muster::client {

/// A version-4 UUID from the kernel's random source.
std::string NewIdempotencyKey();

}  // namespace muster::client
