// labelSelector and fieldSelector of Kubernetes lists. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

class KubeSelector {
 public:
  /// `labels`: k=v, k==v, k!=v, k, !k, k in (a,b), k notin (a,b), joined by commas. `fields`:
  /// metadata.name and metadata.namespace with =, == or !=. Anything else is refused, never
  /// ignored.
  static Result<KubeSelector> Parse(const std::string& labels, const std::string& fields);
  bool Matches(const json::value& object) const;
  bool any() const { return labels_.empty() && fields_.empty(); }

 private:
  struct Requirement {
    std::string key;
    std::vector<std::string> values;  // empty: the key's presence counts
    bool negated = false;
  };
  static Status AddLabel(std::string_view text, std::vector<Requirement>* out);
  static Status AddField(std::string_view text, std::vector<Requirement>* out);
  static bool Holds(const Requirement& requirement, const json::value* value);

  std::vector<Requirement> labels_, fields_;
};

}  // namespace muster::rest
