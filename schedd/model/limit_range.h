// What Kubernetes objects beside the queues say about pods: limits of a namespace and the overhead
// of a runtime.
//
// Plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedd/model/resources.h"

namespace muster {

/// The pod and container entries of a v1 LimitRange (rule A5).
struct LimitRange {
  struct Item {
    bool of_pod = false;  // type Pod; false: Container
    ResourceList min, max, default_limit, default_request;
    std::vector<std::pair<std::string, double>> max_limit_request_ratio;
  };
  std::string ns, name;
  std::vector<Item> items;
};

/// node.k8s.io/v1 RuntimeClass: only its pod overhead counts here.
struct RuntimeClass {
  std::string name;
  ResourceList overhead;
};

}  // namespace muster
