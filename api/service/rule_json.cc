#include "api/service/rule_json.h"

#include <string>
#include <vector>

namespace muster::api {
namespace {

json::array TextList(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

}  // namespace

json::object RuleJson(const PolicyRule& rule) {
  if (!rule.non_resource_urls.empty()) {
    return {{"verbs", TextList(rule.verbs)}, {"nonResourceURLs", TextList(rule.non_resource_urls)}};
  }
  json::object out{{"verbs", TextList(rule.verbs)},
                   {"apiGroups", TextList(rule.api_groups)},
                   {"resources", TextList(rule.resources)}};
  if (!rule.resource_names.empty()) out["resourceNames"] = TextList(rule.resource_names);
  return out;
}

}  // namespace muster::api
