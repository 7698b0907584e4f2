// Whether nobody but root can replace what a path leads to. A program that runs as root uses no
// other path: whoever may rename a directory may put another one in its place.
#pragma once

#include <string>

#include "schedd/base/result.h"

namespace muster {

/// Done if every directory from / to `path`, and `path` itself, belongs to root and only root may
/// write to it; a directory above it may be sticky and open instead (/tmp), because what root has
/// made there stays root's. Links are refused. Error (kFailedPrecondition): a sentence that names
/// the place.
Status CheckTrusted(const std::string& path);

/// Makes the directory with mode 0711 if it is absent, then checks it as CheckTrusted does. The
/// directory above it must exist.
Status MakeTrustedDirectory(const std::string& path);

}  // namespace muster
