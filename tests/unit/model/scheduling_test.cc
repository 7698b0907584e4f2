// Kubernetes' matching rules: tolerations, label selectors, node selector terms.
#include "schedd/model/scheduling.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Tolerates, Table) {
  const Taint spot{"type", "spot", "NoSchedule"};
  const struct {
    const char* name;
    Toleration toleration;
    bool tolerated;
  } kCases[] = {
      {"equal key, value and effect", {"type", "Equal", "spot", "NoSchedule", {}}, true},
      {"no operator means Equal", {"type", "", "spot", "NoSchedule", {}}, true},
      {"an empty effect matches every effect", {"type", "Equal", "spot", "", {}}, true},
      {"another effect does not match", {"type", "Equal", "spot", "NoExecute", {}}, false},
      {"another value does not match", {"type", "Equal", "reserved", "NoSchedule", {}}, false},
      {"Exists ignores the value", {"type", "Exists", "", "NoSchedule", {}}, true},
      {"another key does not match", {"kind", "Exists", "", "", {}}, false},
      {"Exists without a key matches everything", {"", "Exists", "", "", {}}, true},
      {"an unknown operator matches nothing", {"type", "Has", "spot", "", {}}, false},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Tolerates(test.toleration, spot), test.tolerated) << test.name;
  }
}

TEST(MatchesRequirement, Table) {
  const LabelMap labels{{"zone", "a"}, {"cpus", "32"}, {"word", "x9"}};
  const struct {
    const char* name;
    Requirement requirement;
    bool matches;
  } kCases[] = {
      {"In finds a listed value", {"zone", "In", {"b", "a"}}, true},
      {"In refuses an unlisted value", {"zone", "In", {"b"}}, false},
      {"In refuses an absent key", {"rack", "In", {"a"}}, false},
      {"NotIn accepts an absent key", {"rack", "NotIn", {"a"}}, true},
      {"NotIn refuses a listed value", {"zone", "NotIn", {"a"}}, false},
      {"NotIn accepts an unlisted value", {"zone", "NotIn", {"b"}}, true},
      {"Exists", {"zone", "Exists", {}}, true},
      {"Exists refuses an absent key", {"rack", "Exists", {}}, false},
      {"DoesNotExist", {"rack", "DoesNotExist", {}}, true},
      {"DoesNotExist refuses a present key", {"zone", "DoesNotExist", {}}, false},
      {"Gt compares numbers, not text", {"cpus", "Gt", {"4"}}, true},
      {"Gt is strict", {"cpus", "Gt", {"32"}}, false},
      {"Lt compares numbers, not text", {"cpus", "Lt", {"100"}}, true},
      {"Gt refuses a label that is no number", {"word", "Gt", {"4"}}, false},
      {"Gt refuses a bound that is no number", {"cpus", "Gt", {"4x"}}, false},
      {"Gt refuses an absent key", {"rack", "Gt", {"4"}}, false},
      {"Gt refuses two bounds", {"cpus", "Gt", {"4", "5"}}, false},
      {"an unknown operator matches nothing", {"zone", "Is", {"a"}}, false},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Matches(test.requirement, labels), test.matches) << test.name;
  }
}

TEST(MatchesLabelSelector, EmptySelector_MatchesEverything) {
  EXPECT_TRUE(Matches(LabelSelector{}, LabelMap{}));
  EXPECT_TRUE(Matches(LabelSelector{}, LabelMap{{"a", "b"}}));
}

TEST(MatchesLabelSelector, AllLabelsAndExpressions_MustMatch) {
  LabelSelector selector;
  selector.match_labels = {{"team", "a"}};
  selector.match_expressions = {{"tier", "In", {"gold", "silver"}}};
  EXPECT_TRUE(Matches(selector, {{"team", "a"}, {"tier", "gold"}}));
  EXPECT_FALSE(Matches(selector, {{"team", "a"}}));
  EXPECT_FALSE(Matches(selector, {{"team", "b"}, {"tier", "gold"}}));
  EXPECT_FALSE(Matches(selector, {{"tier", "gold"}}));
}

TEST(MatchesNodeSelectorTerm, EmptyTerm_MatchesNothing_AndAllExpressionsMustMatch) {
  EXPECT_FALSE(Matches(NodeSelectorTerm{}, LabelMap{{"a", "b"}}));
  const NodeSelectorTerm term{{{"a", "Exists", {}}, {"c", "In", {"d"}}}};
  EXPECT_TRUE(Matches(term, {{"a", "b"}, {"c", "d"}}));
  EXPECT_FALSE(Matches(term, {{"a", "b"}, {"c", "e"}}));
}

}  // namespace
}  // namespace muster
