// PlainLoad: creates the same objects as Muster, by a client that does nothing else. It measures
// how many objects a member can take.
#pragma once

#include <cstddef>
#include <string>

#include "tests/bench/member_wire.h"

namespace muster::bench {

/// A Job as Muster created it, without the fields that the member added. A mark stands for its
/// name, and its instance label is one that no musterd uses.
Result<std::string> SampleJob(const MemberTarget& target, const std::string& ns);

struct PlainOptions {
  std::string ns, prefix;
  std::string sample;  // of SampleJob
  std::size_t jobs = 0;
  int connections = 8;
  /// true: a suspended create and a patch that releases it; false: one create.
  bool suspended = false;
};

/// Creates the jobs PREFIX0, PREFIX1, and so on. Each connection sends its next request when the
/// last one is answered.
Status RunPlainLoad(const MemberTarget& target, const PlainOptions& options);

}  // namespace muster::bench
