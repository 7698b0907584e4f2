// BenchMembers: the Kubernetes members of a benchmark: fake ones in this process, or real clusters
// of tests/kubebed. They end with the benchmark.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/member_wire.h"

namespace muster::bench {

class BenchMembers {
 public:
  /// `count` fake members with `nodes` nodes each, on two threads.
  static Result<std::unique_ptr<BenchMembers>> Fake(int count, int nodes);
  /// Real clusters. Errors: kubebed cannot be built or started.
  static Result<std::unique_ptr<BenchMembers>> Real(int count, int nodes);
  virtual ~BenchMembers() = default;

  const std::vector<MemberTarget>& targets() const { return targets_; }
  /// The flags that make them members of musterd; `fast`: one create instead of two steps.
  std::vector<std::string> Flags(bool fast) const;

 protected:
  std::vector<MemberTarget> targets_;
  std::vector<std::string> kubeconfigs_;
};

}  // namespace muster::bench
