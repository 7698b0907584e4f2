// Hashes the fields of a policy that decide which members are picked, one after the other. Whatever
// changes the hashed text (another field, another order) changes the hashes of all stored rows, and
// every placement then picks its members anew.
#include "schedd/propagation/step/policy_digest.h"

#include "schedd/propagation/step/digest.h"

namespace muster::propagation {
namespace {

// Adds fields one by one; a list begins with its length, so that two lists cannot run into each
// other.
class PolicyText {
 public:
  void Text(std::string_view text) { digest_.Add(text); }
  void Number(std::int64_t number) { digest_.Add(std::to_string(number)); }
  template <class List, class Each>
  void All(const List& list, const Each& each) {
    Number(static_cast<std::int64_t>(list.size()));
    for (const auto& item : list) each(item);
  }
  void Labels(const LabelSelector& selector) {
    All(selector.match_labels, [&](const auto& label) {
      Text(label.first);
      Text(label.second);
    });
    All(selector.match_expressions, [&](const Requirement& one) {
      Text(one.key);
      Text(one.op);
      All(one.values, [&](const std::string& value) { Text(value); });
    });
  }
  std::string Hex() { return digest_.Hex(); }

 private:
  Digest digest_;
};

}  // namespace

// The fields in the order of PlacementPolicy, without cluster_names and number_of_clusters.
std::string PolicyDigest(const PlacementPolicy& policy) {
  PolicyText text;
  text.Text(PlacementTypeName(policy.type));
  text.All(policy.required, [&](const ClusterSelectorTerm& term) {
    text.Labels(term.labels);
    text.All(term.properties, [&](const PropertyExpression& one) {
      text.Text(one.name);
      text.Number(static_cast<std::int64_t>(one.op));
      text.All(one.values, [&](const std::string& value) { text.Text(value); });
    });
  });
  text.All(policy.preferred, [&](const PreferredClusterTerm& term) {
    text.Number(term.weight);
    text.Labels(term.labels);
    text.Text(term.sorter ? term.sorter->name : "");
    text.Number(term.sorter && term.sorter->descending ? 1 : 0);
  });
  text.All(policy.spread, [&](const ClusterSpread& one) {
    text.Number(one.max_skew);
    text.Text(one.topology_key);
    text.Number(one.schedule_anyway ? 1 : 0);
  });
  text.All(policy.tolerations, [&](const Toleration& one) {
    for (const std::string* part : {&one.key, &one.op, &one.value, &one.effect}) text.Text(*part);
  });
  text.All(policy.groups, [&](const ClusterGroup& group) {
    text.All(group.clusters, [&](const std::string& name) { text.Text(name); });
    text.Number(group.labels ? 1 : 0);
    if (group.labels) text.Labels(*group.labels);
  });
  text.Number(policy.kubefleet_tie_break ? 1 : 0);
  text.Number(policy.score_over_feasible ? 1 : 0);
  return text.Hex();
}

}  // namespace muster::propagation
