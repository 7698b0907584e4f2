#include "api/service/stream_counts.h"

#include <map>
#include <string>
#include <utility>

#include "api/auth/rbac_authorizer.h"
#include "schedd/base/mutex.h"

namespace muster::api {
namespace {

constexpr std::int64_t kStreamRetryMs = 5000;

}  // namespace

struct StreamCounts::Table {
  const std::size_t most = 0;
  Mutex mutex;
  std::map<std::string, std::size_t> open MUSTER_GUARDED_BY(mutex) = {};  // by user; none is 0
};

class StreamCounts::Counted {
 public:
  Counted(std::shared_ptr<Table> table, std::string user)
      : table_(std::move(table)), user_(std::move(user)) {}
  ~Counted() {
    const MutexLock lock(table_->mutex);
    const auto mine = table_->open.find(user_);
    if (--mine->second == 0) table_->open.erase(mine);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  const std::shared_ptr<Table> table_;
  const std::string user_;
};

StreamCounts::StreamCounts(std::size_t most_of_user)
    : table_(std::make_shared<Table>(most_of_user)) {}

Result<std::shared_ptr<const void>> StreamCounts::Take(const auth::Principal& who) const {
  {
    const MutexLock lock(table_->mutex);
    std::size_t& mine = table_->open[who.user];
    if (table_->most != 0 && mine >= table_->most && !auth::IsMaster(who)) {
      return Overloaded("user \"" + who.user + "\" may have at most " +
                            std::to_string(table_->most) +
                            " open streams (limits.streams-per-user) and has as many",
                        kStreamRetryMs);
    }
    ++mine;
  }
  return std::shared_ptr<const void>(std::make_shared<const Counted>(table_, who.user));
}

}  // namespace muster::api
