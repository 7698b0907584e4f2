#include "schedd/shapes/kinds/topology_affinity.h"

#include <map>
#include <string>
#include <vector>

#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

json::object Expression(const std::string& key, json::array values) {
  return {{"key", key}, {"operator", "In"}, {"values", std::move(values)}};
}

// The domains as lists of expressions, one list per term. Domains that differ in the last level
// only share a list, which keeps large assignments short.
std::vector<json::array> TermsOf(const TopologyAssignment& assignment) {
  std::map<std::vector<std::string>, json::array> lowest;
  for (const TopologyDomain& domain : assignment.domains) {
    const std::vector<std::string> above(domain.values.begin(), domain.values.end() - 1);
    lowest[above].push_back(json::string(domain.values.back()));
  }
  std::vector<json::array> terms;
  for (auto& [above, values] : lowest) {
    json::array expressions;
    for (std::size_t i = 0; i < above.size(); ++i) {
      expressions.push_back(Expression(assignment.levels[i], json::array{json::string(above[i])}));
    }
    expressions.push_back(Expression(assignment.levels.back(), std::move(values)));
    terms.push_back(std::move(expressions));
  }
  return terms;
}

// True if there is a domain, and every domain has one value per level.
bool IsWellFormed(const TopologyAssignment& assignment) {
  if (assignment.levels.empty() || assignment.domains.empty()) return false;
  for (const TopologyDomain& domain : assignment.domains) {
    if (domain.values.size() != assignment.levels.size()) return false;
  }
  return true;
}

// nodeSelectorTerms are alternatives. A node must meet one of the user's terms together with one of
// Muster's, so every pair of them becomes a term.
json::array Product(const json::array& own, const std::vector<json::array>& ours) {
  json::array product;
  for (const json::array& added : ours) {
    if (own.empty()) product.push_back(json::object{{"matchExpressions", added}});
    for (const json::value& term : own) {
      json::object both = term.is_object() ? term.get_object() : json::object();
      json::value& expressions = both["matchExpressions"];
      if (!expressions.is_array()) expressions.emplace_array();
      for (const json::value& one : added) expressions.get_array().push_back(one);
      product.push_back(std::move(both));
    }
  }
  return product;
}

}  // namespace

void AddTopology(const TopologyAssignment& assignment, json::object* pod_spec) {
  if (!IsWellFormed(assignment)) return;
  if (assignment.domains.size() == 1) {
    json::object& selector = MakeObjectAt(*pod_spec, "nodeSelector");
    for (std::size_t i = 0; i < assignment.levels.size(); ++i)
      selector[assignment.levels[i]] = assignment.domains[0].values[i];
    return;
  }
  json::object& affinity = MakeObjectAt(MakeObjectAt(*pod_spec, "affinity"), "nodeAffinity");
  json::object& required = MakeObjectAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  json::value& terms = required["nodeSelectorTerms"];
  if (!terms.is_array()) terms.emplace_array();
  terms = Product(json::array(terms.get_array()), TermsOf(assignment));
}

}  // namespace muster::shapes
