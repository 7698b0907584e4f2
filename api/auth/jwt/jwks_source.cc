// One thread per issuer, so that a provider that hangs does not delay another one. Requests only
// read the cache, ask for a fetch and wait for the number of ended fetches to change.
#include "api/auth/jwt/jwks_source.h"

#include <algorithm>
#include <chrono>

#include "api/auth/jwt/discovery.h"
#include "schedd/base/limits.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/provider_url.h"

namespace muster::auth {

JwksSource::JwksSource(IssuerConfig issuer, DocumentFetcher* fetcher, const Clock* clock)
    : issuer_(std::move(issuer)), fetcher_(fetcher), clock_(clock) {
  thread_ = std::thread([this] { Loop(); });
}

JwksSource::~JwksSource() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  fetched_.NotifyAll();
  thread_.join();
}

KeySetPtr JwksSource::Keys() const {
  const MutexLock lock(mutex_);
  return cache_.Current(clock_->Now());
}

std::string JwksSource::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

Result<KeySetPtr> JwksSource::KeysFor(std::string_view kid, bool may_wait) {
  MutexLock lock(mutex_);
  const auto known = [&]() MUSTER_REQUIRES(mutex_) {
    const KeySetPtr keys = cache_.Current(clock_->Now());
    return keys != nullptr && keys->Knows(kid);
  };
  const bool comes = fetching_ || asked_ || cache_.MayAsk(clock_->Now());
  if (!known() && comes && (!may_wait || waiters_ < limits::kKeysWaiters)) {
    // Without a fetch that runs, one is asked for; MayAsk has said that it may be.
    if (!fetching_) asked_ = true;
    wake_.NotifyAll();
    if (!may_wait)
      return Unavailable("the keys of the issuer " + issuer_.name + " are being fetched");
    ++waiters_;
    const std::int64_t before = fetches_;
    fetched_.WaitFor(mutex_, std::chrono::milliseconds(limits::kKeysWaitMs),
                     [&]() MUSTER_REQUIRES(mutex_) { return fetches_ != before || stopping_; });
    --waiters_;
  }
  KeySetPtr keys = cache_.Current(clock_->Now());
  if (keys == nullptr) {
    return Unavailable("the keys of the issuer " + issuer_.name + " cannot be fetched now");
  }
  return keys;
}

Result<JwksSource::Fetched> JwksSource::Fetch() {
  const auto cancelled = [this] {
    const MutexLock lock(mutex_);
    return stopping_;
  };
  auto discovered = fetcher_->Get(DiscoveryUrl(issuer_.issuer), issuer_.ca, cancelled);
  if (!discovered.ok()) return discovered.error();
  auto uri = JwksUriOf(discovered->body, issuer_.issuer);
  if (!uri.ok()) return uri.error();
  auto document = fetcher_->Get(*uri, issuer_.ca, cancelled);
  if (!document.ok()) return document.error();
  auto keys = KeySet::Parse(document->body);
  if (!keys.ok()) return keys.error();
  return Fetched{std::move(keys).value(), document->max_age_s};
}

void JwksSource::Record(Result<Fetched> fetched) {
  ++fetches_;
  if (fetched.ok()) {
    problem_.clear();
    const auto count = static_cast<std::int64_t>(fetched->keys->size());
    cache_.Took(std::move(fetched->keys), fetched->max_age_s, clock_->Now());
    Log(LogLevel::kInfo, "auth", "issuer_keys_fetched",
        {{"issuer", issuer_.issuer}, {"keys", count}});
    return;
  }
  problem_ = fetched.error().detail;
  cache_.Failed(clock_->Now());
  Log(LogLevel::kWarning, "auth", "issuer_keys_not_fetched",
      {{"issuer", issuer_.issuer}, {"error", problem_}});
}

void JwksSource::Loop() {
  MutexLock lock(mutex_);
  // A clock's zero is not always before now: the first fetch does not wait for it.
  asked_ = true;
  while (!stopping_) {
    const Monotonic now = clock_->Now();
    if (!asked_ && now < cache_.DueAt()) {
      wake_.WaitFor(mutex_, std::chrono::nanoseconds(cache_.DueAt() - now));
      continue;
    }
    asked_ = false;
    fetching_ = true;
    cache_.Began(now);
    lock.Unlock();
    Result<Fetched> fetched = Fetch();
    lock.Lock();
    fetching_ = false;
    if (!stopping_) Record(std::move(fetched));
    fetched_.NotifyAll();
  }
}

}  // namespace muster::auth
