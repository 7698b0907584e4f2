// The compact form of topology assignments in Workload objects.
#include "schedd/shapes/parts/topology_slices.h"

#include <gtest/gtest.h>

#include "schedd/base/limits.h"

namespace muster::shapes {
namespace {

json::value Json(const std::string& text) { return *ParseJson(text); }

std::string Text(const TopologyAssignment& assignment) {
  std::string text;
  for (const auto& domain : assignment.domains) {
    for (const auto& value : domain.values) text += value + "/";
    text += "=" + std::to_string(domain.count) + " ";
  }
  return text;
}

TEST(TopologySlices, EveryFormOfTheSameAssignment_IsReadAlike) {
  struct {
    const char* name;
    const char* json;
  } const forms[] = {
      {"v1beta1's plain list",
       R"({"levels":["r","h"],"domains":[{"values":["a","x1"],"count":2},
           {"values":["a","x2"],"count":1}]})"},
      {"one slice with prefix",
       R"({"levels":["r","h"],"slices":[{"domainCount":2,"podCounts":{"individual":[2,1]},
           "valuesPerLevel":[{"universal":"a"},{"individual":{"prefix":"x","roots":["1","2"]}}]}]})"},
      {"two slices, a suffix",
       R"({"levels":["r","h"],"slices":[{"domainCount":1,"podCounts":{"universal":2},
           "valuesPerLevel":[{"universal":"a"},{"individual":{"suffix":"1","roots":["x"]}}]},
           {"domainCount":1,"podCounts":{"universal":1},
           "valuesPerLevel":[{"universal":"a"},{"universal":"x2"}]}]})"},
  };
  for (const auto& form : forms) {
    SCOPED_TRACE(form.name);
    Problems problems;
    const json::value document = Json(form.json);
    const auto read = ReadTopologyAssignment({document, &problems});
    ASSERT_NE(read, nullptr);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(Text(*read), "a/x1/=2 a/x2/=1 ");
  }
}

TEST(TopologySlices, WhatIsRendered_IsReadBack) {
  const TopologyAssignment cases[] = {
      {{"h"}, {}},
      {{"h"}, {{{"x1"}, 3}}},
      {{"r", "h"}, {{{"a", "x1"}, 1}, {{"a", "x10"}, 1}, {{"b", "x2"}, 4}}},
      {{"h"}, {{{"same"}, 1}, {{"samer"}, 1}}},
  };
  for (const auto& assignment : cases) {
    const json::value rendered = RenderTopologyAssignment(assignment);
    Problems problems;
    const auto read = ReadTopologyAssignment({rendered, &problems});
    ASSERT_NE(read, nullptr) << WriteJson(rendered);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(*read, assignment) << WriteJson(rendered);
  }
}

TEST(TopologySlices, CommonPrefixes_AreWrittenOnce) {
  const TopologyAssignment assignment = {{"h"}, {{{"node-1"}, 2}, {{"node-22"}, 2}}};
  EXPECT_EQ(WriteJson(RenderTopologyAssignment(assignment)),
            R"({"levels":["h"],"slices":[{"domainCount":2,"podCounts":{"universal":2},)"
            R"("valuesPerLevel":[{"individual":{"prefix":"node-","roots":["1","22"]}}]}]})");
}

TEST(TopologySlices, WrongFields_AreNamed) {
  struct {
    const char* json;
    const char* want;
  } const cases[] = {
      {R"({"levels":["h"],"slices":[{"domainCount":2,"podCounts":{"individual":[1]},
           "valuesPerLevel":[{"universal":"a"}]}]})",
       "must have one element per domain"},
      {R"({"levels":["h"],"slices":[{"domainCount":2,"podCounts":{"universal":1},
           "valuesPerLevel":[{"individual":{"roots":["1"]}}]}]})",
       "must have one element per domain"},
      {R"({"levels":["h"],"slices":[{"domainCount":1,"podCounts":{"universal":1},
           "valuesPerLevel":[]}]})",
       "must have one element per level"},
      {R"({"levels":["h"],"domains":[{"values":["a","b"],"count":1}]})",
       "must have one element per level"},
      {R"({"levels":["h"],"domains":[{"values":["a"],"count":0}]})", "must be at least 1"},
      {R"({"levels":["h"],"slices":[{"domainCount":2000000000,"podCounts":{"universal":1},
           "valuesPerLevel":[{"universal":"a"}]}]})",
       "must be at most 100000"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.json);
    Problems problems;
    const json::value document = Json(one.json);
    ReadTopologyAssignment({document, &problems});
    ASSERT_FALSE(problems.empty());
    EXPECT_NE(problems.ToError().detail.find(one.want), std::string::npos)
        << problems.ToError().detail;
  }
}

}  // namespace
}  // namespace muster::shapes
