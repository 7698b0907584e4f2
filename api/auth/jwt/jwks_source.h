// JwksSource: the keys of one issuer, fetched by a thread of its own (rule U54).
#pragma once

#include <string>
#include <thread>

#include "api/auth/jwt/document_fetcher.h"
#include "api/auth/jwt/issuer.h"
#include "api/auth/jwt/key_cache.h"
#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"

namespace muster::auth {

/// Thread-safe. Never fetches on the caller's thread.
class JwksSource {
 public:
  /// The first fetch begins at once. `fetcher` and `clock` must outlive this.
  JwksSource(IssuerConfig issuer, DocumentFetcher* fetcher, const Clock* clock);
  /// Ends the thread; a fetch that runs is given up.
  ~JwksSource();
  JwksSource(const JwksSource&) = delete;
  JwksSource& operator=(const JwksSource&) = delete;

  const IssuerConfig& issuer() const { return issuer_; }
  /// The keys that count now; null if there are none. Never waits.
  KeySetPtr Keys() const;
  /// The keys, if possible with one of this name: for an unknown name they are fetched again, at
  /// most every limits::kKeysAskAgainS, and the caller waits up to limits::kKeysWaitMs for them
  /// (at most limits::kKeysWaiters callers; others get what is there). kUnavailable: there are no
  /// keys, because the provider has never answered or not for limits::kKeysStaleS. Without
  /// `may_wait` nobody waits, and kUnavailable also says that the name may become known soon.
  Result<KeySetPtr> KeysFor(std::string_view kid, bool may_wait = true);
  /// Why the last fetch failed; "" if it did not.
  std::string problem() const;

 private:
  struct Fetched {
    KeySetPtr keys;
    std::optional<std::int64_t> max_age_s;
  };
  void Loop();
  /// Discovery, then the keys. On the thread, without the lock.
  Result<Fetched> Fetch();
  void Record(Result<Fetched> fetched) MUSTER_REQUIRES(mutex_);

  const IssuerConfig issuer_;
  DocumentFetcher* const fetcher_;
  const Clock* const clock_;

  mutable Mutex mutex_;
  CondVar wake_, fetched_;
  KeyCache cache_ MUSTER_GUARDED_BY(mutex_);
  bool asked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool fetching_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  int waiters_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::int64_t fetches_ MUSTER_GUARDED_BY(mutex_) = 0;  // that have ended
  std::string problem_ MUSTER_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace muster::auth
