// What an entry of the table of kinds (object_kinds.h) is made of: how a typed reader becomes the
// check of a kind, and how an object gets into its table of a ConfigView and out of it. Internal to
// schedd/shapes/config.
//
// Pure function templates; an entry names their instances.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// The check of a kind that has a typed reader: what the reader says is wrong.
template <auto read>
void CheckBy(const Field& root) {
  (void)read(root);
}

/// The typed value of a manifest. Errors: every wrong field.
template <class T>
Result<T> ReadTyped(const json::value& manifest, T (*read)(const Field&)) {
  Problems problems;
  T value = read(Field(manifest, &problems));
  if (!problems.empty()) return problems.ToError();
  return value;
}

/// Reads an object and puts it into a table of the ConfigView, whose key is the name, or namespace
/// and name. `check_change`, if given, compares it with the object that it replaces.
template <auto read, auto table, auto check_change = nullptr>
Status PutInto(const json::value& manifest, ConfigView* config) {
  auto value = ReadTyped(manifest, read);
  if (!value.ok()) return value.error();
  auto& map = config->*table;
  using Key = typename std::remove_reference_t<decltype(map)>::key_type;
  Key key;
  if constexpr (std::is_same_v<Key, std::string>) {
    key = value->name;
  } else {
    key = Key(value->ns, value->name);
  }
  if constexpr (!std::is_same_v<decltype(check_change), std::nullptr_t>) {
    const auto old = map.find(key);
    if (old != map.end()) {
      if (Status status = check_change(old->second, *value); !status.ok()) return status;
    }
  }
  map[std::move(key)] = std::move(*value);
  return Done{};
}

/// Removes an object from a table of the ConfigView.
template <auto table>
void EraseFrom(ConfigView* config, const std::string& ns, const std::string& name) {
  auto& map = config->*table;
  using Key = typename std::remove_reference_t<decltype(map)>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    map.erase(name);
  } else {
    map.erase(Key(ns, name));
  }
}

}  // namespace muster::shapes
