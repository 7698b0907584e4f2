// SharedHash: values by a 64-bit hash, whose copies share their common entries, as those of
// SharedMap. It has no order; a look-up that finds something costs three pointers, whatever the
// size, and most others cost one: beside each leaf its branch has a word with a bit for every hash
// in it.
//
// A copy copies 64 pointers, and an edit clones two nodes of the tree. As thread-safe as an int:
// any thread may read a published copy while the writer edits its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace muster {

template <class Value>
class SharedHash {
 public:
  /// The value with this hash that `is` accepts; null if there is none. Valid until the next edit.
  template <class Is>
  const Value* Find(std::uint64_t hash, const Is& is) const {
    const auto& branch = branches_[BranchAt(hash)];
    if (branch == nullptr || (branch->bits[LeafAt(hash)] & BitOf(hash)) == 0) return nullptr;
    for (const auto& [key, value] : *branch->leaves[LeafAt(hash)]) {
      if (key == hash && is(value)) return &value;
    }
    return nullptr;
  }

  /// Replaces the value that `is` accepts, or adds one.
  template <class Is>
  void Put(std::uint64_t hash, const Is& is, Value value) {
    Leaf leaf = Without(hash, is);
    leaf.emplace_back(hash, std::move(value));
    Replace(hash, std::move(leaf));
  }

  template <class Is>
  void Erase(std::uint64_t hash, const Is& is) {
    if (Find(hash, is) != nullptr) Replace(hash, Without(hash, is));
  }

 private:
  static constexpr std::size_t kFan = 64;
  using Leaf = std::vector<std::pair<std::uint64_t, Value>>;
  struct Branch {
    std::array<std::uint64_t, kFan> bits{};  // of each leaf: BitOf of its hashes
    std::array<std::shared_ptr<const Leaf>, kFan> leaves;
  };

  static std::size_t BranchAt(std::uint64_t hash) { return hash % kFan; }
  static std::size_t LeafAt(std::uint64_t hash) { return hash / kFan % kFan; }
  static std::uint64_t BitOf(std::uint64_t hash) {
    return std::uint64_t{1} << (hash / kFan / kFan % 64);
  }

  const Leaf* LeafOf(std::uint64_t hash) const {
    const auto& branch = branches_[BranchAt(hash)];
    return branch == nullptr ? nullptr : branch->leaves[LeafAt(hash)].get();
  }
  template <class Is>
  Leaf Without(std::uint64_t hash, const Is& is) const {
    const Leaf* leaf = LeafOf(hash);
    Leaf copy = leaf == nullptr ? Leaf() : *leaf;
    std::erase_if(copy, [&](const auto& entry) { return entry.first == hash && is(entry.second); });
    return copy;
  }
  void Replace(std::uint64_t hash, Leaf leaf) {
    auto& branch = branches_[BranchAt(hash)];
    auto copy = branch == nullptr ? std::make_shared<Branch>() : std::make_shared<Branch>(*branch);
    std::uint64_t bits = 0;
    for (const auto& entry : leaf) bits |= BitOf(entry.first);
    copy->bits[LeafAt(hash)] = bits;
    copy->leaves[LeafAt(hash)] =
        leaf.empty() ? nullptr : std::make_shared<const Leaf>(std::move(leaf));
    branch = std::move(copy);
  }

  std::array<std::shared_ptr<const Branch>, kFan> branches_;
};

}  // namespace muster
