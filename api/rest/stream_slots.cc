// Places are numbered in the order they were taken, so the first in the map is the oldest. A slot
// knows only its number: if its place has been given to another user meanwhile, destroying the slot
// removes nothing. A difference of two keeps places from going back and forth between two users.
#include "api/rest/stream_slots.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"

namespace muster::rest {
namespace {

constexpr std::int64_t kStreamRetryMs = 5000;

}  // namespace

// The places that are taken. Slots share it with StreamSlots, which may go first.
struct StreamSlots::Table {
  struct TakenSlot {
    std::string user;
    std::weak_ptr<StreamSink> sink;
  };
  Mutex mutex;
  std::uint64_t next MUSTER_GUARDED_BY(mutex) = 0;
  std::map<std::uint64_t, TakenSlot> taken MUSTER_GUARDED_BY(mutex);  // the oldest first

  // Frees a place for `user` and returns the stream to end; null if nobody has at
  // least two streams more.
  std::shared_ptr<StreamSink> Displace(const std::string& user) MUSTER_REQUIRES(mutex) {
    std::map<std::string, std::size_t> counts;
    for (const auto& [number, slot] : taken) ++counts[slot.user];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->second < counts[user] + 2) return nullptr;
    for (auto it = taken.begin(); it != taken.end(); ++it) {
      if (it->second.user != most->first) continue;
      std::shared_ptr<StreamSink> sink = it->second.sink.lock();
      if (sink == nullptr) continue;  // its stream has not begun, so it could not be ended
      taken.erase(it);
      return sink;
    }
    return nullptr;
  }
};

class StreamSlots::Slot final : public StreamSlot {
 public:
  Slot(std::shared_ptr<Table> table, std::uint64_t number, std::shared_ptr<const void> counted)
      : table_(std::move(table)), number_(number), counted_(std::move(counted)) {}
  ~Slot() override {
    const MutexLock lock(table_->mutex);
    table_->taken.erase(number_);
  }
  void Attach(std::weak_ptr<StreamSink> sink) override {
    const MutexLock lock(table_->mutex);
    const auto found = table_->taken.find(number_);
    if (found != table_->taken.end()) found->second.sink = std::move(sink);
  }

 private:
  const std::shared_ptr<Table> table_;
  const std::uint64_t number_;
  const std::shared_ptr<const void> counted_;
};

StreamSlots::StreamSlots() : table_(std::make_shared<Table>()) {}

Result<std::shared_ptr<StreamSlot>> StreamSlots::Take(const std::string& user,
                                                      std::shared_ptr<const void> counted) {
  std::shared_ptr<StreamSink> displaced;
  std::uint64_t number = 0;
  {
    const MutexLock lock(table_->mutex);
    if (table_->taken.size() >= limits::kStreams) {
      displaced = table_->Displace(user);
      if (displaced == nullptr) {
        return Overloaded(
            "all " + std::to_string(limits::kStreams) + " streams are taken; try again later",
            kStreamRetryMs);
      }
    }
    number = table_->next++;
    table_->taken[number] = {user, {}};
  }
  // Outside the lock: the end of a stream may destroy its slot, which takes the lock.
  if (displaced != nullptr) displaced->End();
  return std::shared_ptr<StreamSlot>(std::make_shared<Slot>(table_, number, std::move(counted)));
}

}  // namespace muster::rest
