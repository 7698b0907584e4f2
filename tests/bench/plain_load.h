// PlainLoad: the objects that Muster made, made again by a client that does nothing else: what a
// member can take.
#pragma once

#include <cstddef>
#include <string>

#include "tests/bench/member_wire.h"

namespace muster::bench {

/// A Job as Muster made it, without what the member added, with a mark for its name and an instance
/// that no Muster has.
Result<std::string> SampleJob(const MemberTarget& target, const std::string& ns);

struct PlainOptions {
  std::string ns, prefix;
  std::string sample;  // of SampleJob
  std::size_t jobs = 0;
  int connections = 8;
  bool suspended = false;  // a suspended create and a patch that releases it, instead of one create
};

/// Makes the jobs PREFIX0, PREFIX1, ...; every connection sends its next when the last is answered.
Status RunPlainLoad(const MemberTarget& target, const PlainOptions& options);

}  // namespace muster::bench
