// A munge credential for one request (rule U55).
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::client {

/// "Munge CREDENTIAL", bound to the request; `socket` "": munged's default. An error is a sentence:
/// munged does not run here or does not answer. Thread-safe.
Result<std::string> MungeAuthorization(std::string_view method, std::string_view target,
                                       std::string_view body, const std::string& socket);

}  // namespace muster::client
