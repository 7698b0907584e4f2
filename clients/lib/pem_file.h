// Files of certificates, keys and tokens.
#pragma once

#include <string>

#include "schedd/base/result.h"

namespace muster::client {

/// The whole text of a file. The error (kInvalidArgument) names the file and says why.
Result<std::string> ReadPemFile(const std::string& path);

}  // namespace muster::client
