// Lists of names in one text: "a,b". Pure, thread-safe.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace muster {

/// The names between the commas, in order, as views of `list`; none of "". A name may be empty
/// ("a,,b").
inline std::vector<std::string_view> NamesIn(std::string_view list) {
  std::vector<std::string_view> names;
  for (std::size_t from = 0; !list.empty() && from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    names.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return names;
}

/// True if the list has this name.
inline bool ListsName(std::string_view list, std::string_view name) {
  const std::vector<std::string_view> names = NamesIn(list);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace muster
