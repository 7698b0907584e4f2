// One handle per document: a document is fetched every few minutes, so nothing is gained by keeping
// connections. libcurl is the only network code of this room.
#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <mutex>

#include "api/auth/jwt/document_fetcher.h"
#include "schedd/base/limits.h"
#include "schedd/text/provider_url.h"

namespace muster::auth {
namespace {

using CurlHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

// libcurl's callback for a part of the body; another count than it was given ends the transfer.
std::size_t TakeBody(char* data, std::size_t size, std::size_t count, void* out) {
  auto* body = static_cast<std::string*>(out);
  if (body->size() + size * count > limits::kIssuerDocumentBytes) return 0;
  body->append(data, size * count);
  return size * count;
}

// libcurl calls it about once a second; another answer than 0 ends the transfer.
int AskCancelled(void* asked, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(asked))() ? 1 : 0;
}

class CurlFetcher final : public DocumentFetcher {
 public:
  CurlFetcher() {
    // Not thread-safe in itself, and once per process.
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  }

  Result<FetchedDocument> Get(const std::string& url, const std::string& ca,
                              const std::function<bool()>& cancelled) override {
    const CurlHandle handle(curl_easy_init(), &curl_easy_cleanup);
    if (handle == nullptr) return Unavailable("libcurl gives no handle");
    FetchedDocument out;
    char message[CURL_ERROR_SIZE] = "";
    Prepare(handle.get(), url, ca);
    curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, &TakeBody);
    curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &out.body);
    curl_easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, &AskCancelled);
    curl_easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &cancelled);
    curl_easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
    const CURLcode code = curl_easy_perform(handle.get());
    if (code != CURLE_OK) {
      return Unavailable(url + ": " + (*message == '\0' ? curl_easy_strerror(code) : message));
    }
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return Unavailable(url + " answers with status " + std::to_string(status));
    curl_header* header = nullptr;
    if (curl_easy_header(handle.get(), "Cache-Control", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
      out.max_age_s = MaxAgeOf(header->value);
    return out;
  }

 private:
  static void Prepare(CURL* handle, const std::string& url, const std::string& ca) {
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, ca.c_str());
    if (IsLoopbackUrl(url)) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(limits::kIssuerConnectMs));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(limits::kIssuerFetchMs));
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "musterd");
  }
};

}  // namespace

std::unique_ptr<DocumentFetcher> NewCurlFetcher() { return std::make_unique<CurlFetcher>(); }

// Directives are separated by commas; their names do not depend on case (RFC 9111, section 5.2).
std::optional<std::int64_t> MaxAgeOf(std::string_view cache_control) {
  std::string text;
  for (const char c : cache_control) {
    if (c != ' ' && c != '\t') text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  text = "," + text + ",";
  if (text.find(",no-store,") != std::string::npos || text.find(",no-cache,") != std::string::npos)
    return 0;
  const std::size_t at = text.find(",max-age=");
  if (at == std::string::npos) return std::nullopt;
  std::int64_t seconds = 0;
  const char* begin = text.data() + at + std::string_view(",max-age=").size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), seconds);
  if (end == begin || seconds < 0) return std::nullopt;
  return error == std::errc::result_out_of_range ? limits::kKeysFreshMaxS : seconds;
}

}  // namespace muster::auth
