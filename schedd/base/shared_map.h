// SharedMap: an ordered map whose copies share their common entries, so that a new version of a
// large table costs as much as what changed in it, not as much as its size.
//
// Entries stand in sorted chunks; a copy copies the pointers to the chunks, and an edit clones one
// chunk. As thread-safe as an int: any thread may read a published copy while the writer edits its
// own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "schedd/base/check.h"

namespace muster {

template <class Key, class Value>
class SharedMap {
 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<Key, Value>;

 private:
  // Entries of one chunk; a fuller chunk is split in two.
  static constexpr std::size_t kMost = 128;
  // Sorted by key, never empty.
  using Chunk = std::vector<value_type>;
  using Chunks = std::vector<std::shared_ptr<const Chunk>>;

 public:
  /// Valid until the map it came from is edited.
  class const_iterator {
   public:
    const value_type& operator*() const { return (*(*chunks_)[chunk_])[entry_]; }
    const value_type* operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++entry_ == (*chunks_)[chunk_]->size()) {
        ++chunk_;
        entry_ = 0;
      }
      return *this;
    }
    bool operator==(const const_iterator& other) const {
      return chunk_ == other.chunk_ && entry_ == other.entry_;
    }

   private:
    friend class SharedMap;
    const_iterator(const Chunks* chunks, std::size_t chunk, std::size_t entry)
        : chunks_(chunks), chunk_(chunk), entry_(entry) {}
    const Chunks* chunks_;
    std::size_t chunk_, entry_;
  };

  const_iterator begin() const { return {&chunks_, 0, 0}; }
  const_iterator end() const { return {&chunks_, chunks_.size(), 0}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// The first entry whose key is not below `key`.
  const_iterator lower_bound(const Key& key) const {
    const std::size_t chunk = ChunkOf(key);
    return chunk == chunks_.size() ? end()
                                   : const_iterator(&chunks_, chunk, PlaceIn(*chunks_[chunk], key));
  }
  const_iterator find(const Key& key) const {
    const const_iterator at = lower_bound(key);
    return at == end() || key < at->first ? end() : at;
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  /// CHECKs that the key is in the map.
  const Value& at(const Key& key) const {
    const const_iterator found = find(key);
    MUSTER_CHECK(found != end());
    return found->second;
  }

  void insert_or_assign(Key key, Value value) {
    if (chunks_.empty()) {
      chunks_.push_back(std::make_shared<Chunk>(Chunk{{std::move(key), std::move(value)}}));
      size_ = 1;
      return;
    }
    // A key above all others goes into the last chunk.
    const std::size_t at = std::min(ChunkOf(key), chunks_.size() - 1);
    Chunk chunk = *chunks_[at];
    const auto place = chunk.begin() + static_cast<std::ptrdiff_t>(PlaceIn(chunk, key));
    if (place != chunk.end() && !(key < place->first)) {
      place->second = std::move(value);
    } else {
      chunk.emplace(place, std::move(key), std::move(value));
      ++size_;
    }
    Replace(at, std::move(chunk));
  }

  /// True if the key was in the map.
  bool erase(const Key& key) {
    const const_iterator found = find(key);
    if (found == end()) return false;
    Chunk chunk = *chunks_[found.chunk_];
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(found.entry_));
    --size_;
    if (chunk.empty()) {
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(found.chunk_));
    } else {
      Replace(found.chunk_, std::move(chunk));
    }
    return true;
  }

 private:
  // The first chunk whose last key is not below `key`.
  std::size_t ChunkOf(const Key& key) const {
    const auto at = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
      return chunk->back().first < key;
    });
    return static_cast<std::size_t>(at - chunks_.begin());
  }
  // The first entry of the chunk whose key is not below `key`.
  static std::size_t PlaceIn(const Chunk& chunk, const Key& key) {
    const auto at = std::partition_point(chunk.begin(), chunk.end(),
                                         [&](const auto& entry) { return entry.first < key; });
    return static_cast<std::size_t>(at - chunk.begin());
  }
  // Puts an edited chunk in place of the old one, as two chunks if it has become too large.
  void Replace(std::size_t at, Chunk chunk) {
    if (chunk.size() > kMost) {
      const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(chunk.size() / 2);
      chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     std::make_shared<Chunk>(std::make_move_iterator(middle),
                                             std::make_move_iterator(chunk.end())));
      chunk.erase(middle, chunk.end());
    }
    chunks_[at] = std::make_shared<Chunk>(std::move(chunk));
  }

  Chunks chunks_;
  std::size_t size_ = 0;
};

}  // namespace muster
