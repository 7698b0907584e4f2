// FindIn: the value of a key in a map, or null.
#pragma once

namespace muster {

/// A pointer into `map`, valid as long as the element stays in it; null if the map has no such key.
template <class Map>
const typename Map::mapped_type* FindIn(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace muster
