// DocumentFetcher: how the documents of an issuer come here. One implementation asks the network
// (curl_fetcher), tests have their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schedd/base/result.h"

namespace muster::auth {

struct FetchedDocument {
  std::string body;
  /// Seconds for which the provider says it stays as it is: Cache-Control's max-age, 0 for no-store
  /// and no-cache; unset if it says nothing.
  std::optional<std::int64_t> max_age_s;
};

/// Thread-safe.
class DocumentFetcher {
 public:
  virtual ~DocumentFetcher() = default;
  /// GET of one document; `ca` as in IssuerConfig. Blocks, for at most limits::kIssuerFetchMs, and
  /// ends within about a second once `cancelled` gives true. An error: no answer, no 200, or more
  /// than limits::kIssuerDocumentBytes.
  virtual Result<FetchedDocument> Get(const std::string& url, const std::string& ca,
                                      const std::function<bool()>& cancelled) = 0;
};

/// Asks the network by libcurl: TLS 1.2 or later with a verified certificate, no redirects; http
/// only where the URL says so (provider_url.h allows it on loopback), and there past any proxy.
std::unique_ptr<DocumentFetcher> NewCurlFetcher();

/// max-age of a Cache-Control header, 0 for no-store and no-cache, unset without either.
std::optional<std::int64_t> MaxAgeOf(std::string_view cache_control);

}  // namespace muster::auth
