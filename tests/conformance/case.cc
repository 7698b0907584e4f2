#include "tests/conformance/case.h"

#include <fstream>
#include <sstream>

namespace muster::conformance {
namespace {

json::object ObjectAt(const json::value& object, std::string_view key) {
  const json::value& value = At(object, key);
  return value.is_object() ? value.get_object() : json::object();
}

void Merge(const json::object& more, json::object* into) {
  for (const auto& member : more) (*into)[member.key()] = member.value();
}

// What a variant changes of the case that it belongs to.
Case VariantOf(const Case& base, const json::value& variant) {
  Case changed = base;
  const json::object gates = ObjectAt(variant, "featureGates");
  json::object all = ObjectAt(changed.settings, "featureGates");
  Merge(gates, &all);
  changed.settings["featureGates"] = std::move(all);
  for (const auto& gate : gates) {
    changed.variant += (changed.variant.empty() ? "" : ", ") + std::string(gate.key()) + "=" +
                       WriteJson(gate.value());
  }
  Merge(ObjectAt(variant, "want"), &changed.want);
  Merge(ObjectAt(variant, "compare"), &changed.compare);
  for (const auto& key : ListAt(variant, "wantNotAsserted")) {
    if (key.is_string()) changed.want.erase(key.get_string());
  }
  return changed;
}

}  // namespace

const json::value& At(const json::value& object, std::string_view key) {
  static const json::object none;
  const auto* members = object.if_object();
  return At(members == nullptr ? none : *members, key);
}

const json::value& At(const json::object& object, std::string_view key) {
  static const json::value none;
  const auto* value = object.if_contains(key);
  return value == nullptr ? none : *value;
}

std::string TextAt(const json::value& object, std::string_view key) {
  const auto* text = At(object, key).if_string();
  return text == nullptr ? "" : std::string(text->data(), text->size());
}

std::int64_t IntAt(const json::value& object, std::string_view key, std::int64_t otherwise) {
  const json::value& value = At(object, key);
  return value.is_int64() ? value.get_int64() : otherwise;
}

bool BoolAt(const json::value& object, std::string_view key, bool otherwise) {
  const json::value& value = At(object, key);
  return value.is_bool() ? value.get_bool() : otherwise;
}

namespace {

const json::array& ListOf(const json::value& value) {
  static const json::array none;
  const auto* list = value.if_array();
  return list == nullptr ? none : *list;
}

}  // namespace

const json::array& ListAt(const json::value& object, std::string_view key) {
  return ListOf(At(object, key));
}

const json::array& ListAt(const json::object& object, std::string_view key) {
  return ListOf(At(object, key));
}

const json::value& Case::Input(std::string_view key) const {
  static const json::value none;
  const auto* value = inputs.if_contains(key);
  return value == nullptr ? none : *value;
}

const json::value& Case::Want(std::string_view key) const {
  static const json::value none;
  const auto* value = want.if_contains(key);
  return value == nullptr ? none : *value;
}

Result<std::vector<Case>> ReadCases(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  auto document = ParseJson(text.str());
  if (!document.ok()) return InvalidArgument(path + ": " + document.error().detail);
  Case base;
  base.suite = TextAt(*document, "suite");
  base.name = TextAt(*document, "name");
  base.procedure = TextAt(*document, "procedure");
  if (base.procedure.empty()) return std::vector<Case>();
  if (base.suite.empty() || !At(*document, "want").is_object())
    return InvalidArgument(path + ": a case has suite, procedure and want");
  if (!ParseRfc3339(TextAt(*document, "now"), &base.now))
    return InvalidArgument(path + ": now is no time");
  base.inputs = ObjectAt(*document, "inputs");
  base.settings = ObjectAt(*document, "settings");
  base.want = ObjectAt(*document, "want");
  base.compare = ObjectAt(*document, "compare");
  std::vector<Case> cases = {base};
  for (const auto& variant : ListAt(*document, "variants"))
    cases.push_back(VariantOf(base, variant));
  return cases;
}

}  // namespace muster::conformance
