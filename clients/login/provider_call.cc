// The only source of the clients that sees libcurl: our own HTTP client speaks to musterd alone and
// knows no proxies, which sites have between a user and a provider.
#include "clients/login/provider_call.h"

#include <curl/curl.h>

#include <memory>

#include "schedd/base/limits.h"
#include "schedd/text/percent.h"
#include "schedd/text/provider_url.h"

namespace muster::client {
namespace {

constexpr long kProviderCallMs = 10'000;

// libcurl's callback; another count than it was given ends the transfer.
std::size_t TakeAnswer(char* data, std::size_t size, std::size_t count, void* out) {
  auto* body = static_cast<std::string*>(out);
  if (body->size() + size * count > limits::kIssuerDocumentBytes) return 0;
  body->append(data, size * count);
  return size * count;
}

std::string FormText(const FormFields& form) {
  std::string out;
  for (const auto& [name, value] : form) {
    if (!out.empty()) out += '&';
    out += PercentEncode(name) + "=" + PercentEncode(value);
  }
  return out;
}

void PrepareCall(CURL* handle, const std::string& url, const std::string& ca) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, ca.c_str());
  if (IsLoopbackUrl(url)) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, kProviderCallMs);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "muster");
}

}  // namespace

Outcome<ProviderAnswer> CallProvider(const std::string& url, const std::string& ca,
                                     const FormFields* form) {
  const std::string problem = ProviderUrlProblem(url);
  if (!problem.empty()) return LocalFailure("\"" + url + "\": " + problem);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   &curl_easy_cleanup);
  if (handle == nullptr) return LocalFailure("libcurl gives no handle");
  std::string text;
  char message[CURL_ERROR_SIZE] = "";
  const std::string posted = form == nullptr ? "" : FormText(*form);
  PrepareCall(handle.get(), url, ca);
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, message);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, &TakeAnswer);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &text);
  if (form != nullptr) curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, posted.c_str());
  const CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) {
    const std::string why = *message == '\0' ? curl_easy_strerror(code) : message;
    return Failure{Failure::Kind::kUnreachable, 0, "cannot reach the provider: " + why, {}, 0};
  }
  ProviderAnswer out;
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  out.status = static_cast<int>(status);
  Result<json::value> parsed = ParseJson(text);
  if (!parsed.ok() || !parsed->is_object()) {
    return BadAnswer("the provider's answer (status " + std::to_string(status) +
                     ") is no JSON object");
  }
  out.body = std::move(parsed.value().get_object());
  return out;
}

}  // namespace muster::client
