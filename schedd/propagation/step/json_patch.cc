// One operation of an override. The variables ${MEMBER-CLUSTER-NAME} and
// ${MEMBER-CLUSTER-LABEL-KEY-<key>} are replaced in all strings and keys of the value before the
// value is put into the document; a text that came from a label is not searched for variables
// again.
#include "schedd/propagation/step/json_patch.h"

#include <string_view>
#include <utility>

#include "schedd/core/member/cluster_selector.h"
#include "schedd/text/json_patch.h"

namespace muster::propagation {
namespace {

// The variables of KubeFleet's overrides.
constexpr std::string_view kNameVariable = "${MEMBER-CLUSTER-NAME}";
constexpr std::string_view kLabelVariable = "${MEMBER-CLUSTER-LABEL-KEY-";

// The replacement is not searched again.
void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (std::size_t at = text->find(from); at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// Replaces the variables in one text. Returns "" or what is wrong.
std::string FillIn(const MemberCluster& member, std::string* text) {
  ReplaceAll(kNameVariable, member.name, text);
  for (std::size_t at = text->find(kLabelVariable); at != std::string::npos;
       at = text->find(kLabelVariable, at)) {
    const std::size_t begin = at + kLabelVariable.size();
    const std::size_t end = text->find('}', begin);
    if (end == std::string::npos) return "a variable has no closing brace";
    const std::string key = text->substr(begin, end - begin);
    const auto label = member.labels.find(key);
    std::string_view value = member.name;
    if (label != member.labels.end()) {
      value = label->second;
    } else if (key != core::kMemberNameLabel) {
      return "member cluster " + member.name + " does not have label " + key;
    }
    text->replace(at, end + 1 - at, value);
    // The search goes on behind the inserted text.
    at += value.size();
  }
  return "";
}

// The same in all strings and keys of a value.
std::string FillIn(const MemberCluster& member, json::value* value) {
  std::string problem;
  if (auto* string = value->if_string()) {
    std::string text(*string);
    problem = FillIn(member, &text);
    string->assign(text);
  } else if (auto* array = value->if_array()) {
    for (json::value& item : *array) {
      if (problem.empty()) problem = FillIn(member, &item);
    }
  } else if (auto* object = value->if_object()) {
    json::object filled;
    for (auto& [name, item] : *object) {
      std::string key(name);
      if (problem.empty()) problem = FillIn(member, &key);
      if (problem.empty()) problem = FillIn(member, &item);
      filled.insert_or_assign(key, std::move(item));
    }
    *object = std::move(filled);
  }
  return problem;
}

}  // namespace

// The value is parsed for each member anew, because its variables differ.
std::string ApplyPatch(const JsonPatch& patch, const MemberCluster& member, json::value* document) {
  json::value value;
  if (patch.op != PatchOp::kRemove) {
    auto parsed = ParseJson(patch.value);
    if (!parsed.ok()) return "the value is no JSON";
    value = std::move(parsed.value());
    if (std::string problem = FillIn(member, &value); !problem.empty()) return problem;
  }
  switch (patch.op) {
    case PatchOp::kAdd:
      return AddAt(patch.path, std::move(value), document);
    case PatchOp::kReplace:
      return ReplaceAt(patch.path, std::move(value), document);
    case PatchOp::kRemove:
      break;
  }
  return RemoveAt(patch.path, document);
}

}  // namespace muster::propagation
