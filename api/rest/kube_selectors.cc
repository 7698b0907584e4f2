#include "api/rest/kube_selectors.h"

#include <algorithm>
#include <string_view>

namespace muster::rest {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas outside parentheses.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string_view part = Trim(text.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

bool GoodKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '/';
  });
}

Error Malformed(const char* what, std::string_view text) {
  return InvalidField(what, "\"" + std::string(text) + "\" is not a selector");
}

}  // namespace

Status KubeSelector::AddLabel(std::string_view text, std::vector<Requirement>* out) {
  Requirement requirement;
  std::string_view key = text;
  const std::size_t in = text.find(" in ("), notin = text.find(" notin (");
  if (in != std::string_view::npos || notin != std::string_view::npos) {
    if (text.back() != ')') return Malformed("labelSelector", text);
    requirement.negated = in == std::string_view::npos;
    key = text.substr(0, std::min(in, notin));
    const std::size_t open = text.find('(');
    for (const std::string_view value : Split(text.substr(open + 1, text.size() - open - 2))) {
      requirement.values.emplace_back(value);
    }
    if (requirement.values.empty()) return Malformed("labelSelector", text);
  } else if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    requirement.negated = equals > 0 && text[equals - 1] == '!';
    key = text.substr(0, requirement.negated ? equals - 1 : equals);
    const bool twice = equals + 1 < text.size() && text[equals + 1] == '=';
    requirement.values.emplace_back(Trim(text.substr(equals + (twice ? 2 : 1))));
  } else if (text.front() == '!') {
    requirement.negated = true;
    key = text.substr(1);
  }
  requirement.key = Trim(key);
  if (!GoodKey(requirement.key)) return Malformed("labelSelector", text);
  out->push_back(std::move(requirement));
  return Done{};
}

Status KubeSelector::AddField(std::string_view text, std::vector<Requirement>* out) {
  const Status parsed = AddLabel(text, out);
  if (!parsed.ok()) return Malformed("fieldSelector", text);
  Requirement& requirement = out->back();
  if (requirement.values.size() != 1) return Malformed("fieldSelector", text);
  if (requirement.key != "metadata.name" && requirement.key != "metadata.namespace") {
    return InvalidField(
        "fieldSelector",
        "\"" + requirement.key +
            "\" is not supported by this version: only metadata.name and metadata.namespace are");
  }
  requirement.key.erase(0, std::string_view("metadata.").size());
  return Done{};
}

Result<KubeSelector> KubeSelector::Parse(const std::string& labels, const std::string& fields) {
  KubeSelector selector;
  for (const std::string_view part : Split(labels)) {
    if (const Status added = AddLabel(part, &selector.labels_); !added.ok()) return added.error();
  }
  for (const std::string_view part : Split(fields)) {
    if (const Status added = AddField(part, &selector.fields_); !added.ok()) return added.error();
  }
  return selector;
}

bool KubeSelector::Holds(const Requirement& requirement, const json::value* value) {
  bool holds = value != nullptr && value->is_string();
  if (holds && !requirement.values.empty()) {
    holds = std::find(requirement.values.begin(), requirement.values.end(),
                      std::string_view(value->get_string())) != requirement.values.end();
  }
  return holds != requirement.negated;
}

bool KubeSelector::Matches(const json::value& object) const {
  if (any()) return true;
  const json::object empty;
  const json::value* metadata_value =
      object.is_object() ? object.get_object().if_contains("metadata") : nullptr;
  const json::object& metadata = metadata_value != nullptr && metadata_value->is_object()
                                     ? metadata_value->get_object()
                                     : empty;
  const json::value* labels_value = metadata.if_contains("labels");
  const json::object& labels =
      labels_value != nullptr && labels_value->is_object() ? labels_value->get_object() : empty;
  const auto all_hold = [](const std::vector<Requirement>& requirements, const json::object& in) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&](const Requirement& requirement) {
                         return Holds(requirement, in.if_contains(requirement.key));
                       });
  };
  return all_hold(labels_, labels) && all_hold(fields_, metadata);
}

}  // namespace muster::rest
