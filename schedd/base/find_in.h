// FindIn: the value of a key, or null.
#pragma once

namespace muster {

/// A pointer into `map`, valid as long as its element; null if it has no such key.
template <class Map>
const typename Map::mapped_type* FindIn(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace muster
