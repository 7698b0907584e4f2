// The file of the keys that seal secrets.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/store/seal/sealer.h"

namespace muster::seal {

/// The keys of the file, the current one first. A file that does not exist is made, with one new
/// key, mode 0600, in a directory of mode 0700. kFailedPrecondition with a sentence: somebody else
/// may read or write the file, it belongs to another user, or a line is no key.
Result<std::vector<Key>> ReadOrMakeKeys(const std::string& path);

}  // namespace muster::seal
