// labelSelector and fieldSelector of Kubernetes lists. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

class KubeSelector {
 public:
  /// Parses Kubernetes' grammar. `labels`: k=v, k==v, k!=v, k, !k, k in (a,b), k notin (a,b), k>1,
  /// k<1, joined by commas. `fields`: metadata.name and metadata.namespace with =, == or !=.
  /// Anything else is refused by its parameter and never ignored.
  static Result<KubeSelector> Parse(const std::string& labels, const std::string& fields);
  bool Matches(const json::value& object) const;
  /// True if the selector matches every object.
  bool any() const { return labels_.empty() && fields_.empty(); }

  /// One condition. An object without the key satisfies neither kExists nor kEqual.
  struct Requirement {
    enum class Op : std::uint8_t { kExists, kEqual, kGreater, kLess };
    std::string key;
    Op op = Op::kExists;
    std::vector<std::string> values;  // kEqual: one of them; kGreater, kLess: one integer
    bool negated = false;
  };

 private:
  std::vector<Requirement> labels_, fields_;
};

}  // namespace muster::rest
