// Words of users and of Slurm are compared without case.
#pragma once

#include <strings.h>

#include <string_view>

namespace muster::slurm {

/// True if the words differ at most in case.
inline bool SameWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster::slurm
