#include "schedd/propagation/step/json_patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "schedd/core/cluster_selector.h"

namespace muster::propagation {
namespace {

constexpr std::string_view kNameVariable = "${MEMBER-CLUSTER-NAME}";
constexpr std::string_view kLabelVariable = "${MEMBER-CLUSTER-LABEL-KEY-";

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (std::size_t at = text->find(from); at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// "" or what is wrong.
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
    at += value.size();  // what a label says is no variable
  }
  return "";
}

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

// One part of a JSON pointer as it was before it was escaped.
std::string Unescaped(std::string_view token) {
  std::string text(token);
  ReplaceAll("~1", "/", &text);
  ReplaceAll("~0", "~", &text);
  return text;
}

// The position that a pointer gives in an array; its size for "-"; nullopt if it is none.
std::optional<std::size_t> PositionOf(std::string_view token, std::size_t size) {
  if (token == "-") return size;
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  std::size_t position = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), position);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return position;
}

std::string PatchObject(PatchOp op, const std::string& key, json::value value,
                        json::object* object) {
  if (op != PatchOp::kAdd && !object->contains(key)) return "there is nothing at the path";
  if (op == PatchOp::kRemove) {
    json::object left;  // erase() would change the order
    for (auto& [name, item] : *object) {
      if (name != key) left.emplace(name, std::move(item));
    }
    *object = std::move(left);
  } else {
    object->insert_or_assign(key, std::move(value));
  }
  return "";
}

std::string PatchArray(PatchOp op, std::string_view token, json::value value, json::array* array) {
  const auto position = PositionOf(token, array->size());
  const bool add = op == PatchOp::kAdd;
  if (!position || *position > array->size() || (!add && *position == array->size())) {
    return "the list there has " + std::to_string(array->size()) + " entries";
  }
  const auto place = array->begin() + *position;
  if (add) {
    array->insert(place, std::move(value));
  } else if (op == PatchOp::kRemove) {
    array->erase(place);
  } else {
    *place = std::move(value);
  }
  return "";
}

}  // namespace

std::string ApplyPatch(const JsonPatch& patch, const MemberCluster& member, json::value* document) {
  json::value value;
  if (patch.op != PatchOp::kRemove) {
    auto parsed = ParseJson(patch.value);
    if (!parsed.ok()) return "the value is no JSON";
    value = std::move(parsed.value());
    if (std::string problem = FillIn(member, &value); !problem.empty()) return problem;
  }
  const std::size_t last = patch.path.rfind('/');
  if (last == std::string::npos) return "the path does not start with /";
  boost::system::error_code error;
  json::value* parent = document->find_pointer(patch.path.substr(0, last), error);
  if (parent == nullptr) return "there is nothing at " + patch.path.substr(0, last);
  const std::string_view token = std::string_view(patch.path).substr(last + 1);
  if (auto* object = parent->if_object()) {
    return PatchObject(patch.op, Unescaped(token), std::move(value), object);
  }
  if (auto* array = parent->if_array()) {
    return PatchArray(patch.op, token, std::move(value), array);
  }
  return "there is neither an object nor a list at " + patch.path.substr(0, last);
}

}  // namespace muster::propagation
