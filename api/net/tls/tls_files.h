// TlsFiles: the server's certificate, key, client authority and revocations from files, read again
// when a file changes (rule U42).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/net/tls/tls_context.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::net {

struct TlsPaths {
  std::string certificate, key;
  std::string client_ca, client_crl;  // "": none
  std::vector<std::string> names;     // of the server; empty: those of the certificate
};

/// Thread-safe.
class TlsFiles final : public TlsSource {
 public:
  /// Hears of every change of a file: the context that new connections get from now on, or why the
  /// old one is kept. Called by Refresh, on its thread. A reading that failed is repeated by each
  /// Refresh, and told again when it fails for another reason.
  using Report = std::function<void(const Result<TlsContextPtr>& changed)>;

  /// Errors: a file that cannot be read or used, and a key that group or others may access.
  static Result<std::shared_ptr<TlsFiles>> Load(TlsPaths paths, Report report);

  TlsContextPtr Current() const override;
  void Refresh() override;

 private:
  /// What shows that a file has changed.
  struct Stamp {
    std::int64_t changed_ns = 0, written_ns = 0, size = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 4>;
  TlsFiles(TlsPaths paths, Report report) : paths_(std::move(paths)), report_(std::move(report)) {}
  Stamps Look() const;
  Result<TlsContextPtr> Read() const;

  const TlsPaths paths_;
  const Report report_;
  Mutex refresh_;  // one Refresh at a time
  Stamps seen_ MUSTER_GUARDED_BY(refresh_);
  std::string problem_ MUSTER_GUARDED_BY(refresh_);  // of the last reading; "": none
  mutable Mutex mutex_;
  TlsContextPtr current_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::net
