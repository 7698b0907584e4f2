#include "schedd/text/provider_url.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";

// HOST:PORT of a URL with one of the two schemes; "" otherwise.
std::string_view AuthorityOf(std::string_view url) {
  if (url.starts_with(kHttps)) {
    url.remove_prefix(kHttps.size());
  } else if (url.starts_with(kHttp)) {
    url.remove_prefix(kHttp.size());
  } else {
    return {};
  }
  return url.substr(0, url.find_first_of("/?#"));
}

// 127.x.x.x in digits: "127.evil.example" is a name.
bool IsLoopbackAddress(std::string_view host) {
  return host.starts_with("127.") &&
         std::all_of(host.begin(), host.end(),
                     [](char c) { return c == '.' || (c >= '0' && c <= '9'); }) &&
         std::count(host.begin(), host.end(), '.') == 3;
}

bool IsPlainAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

bool IsLoopbackUrl(std::string_view url) {
  std::string_view host = AuthorityOf(url);
  if (host.find('@') != std::string_view::npos) return false;
  if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
  host = host.substr(0, host.find(':'));
  return host == "localhost" || IsLoopbackAddress(host);
}

std::string ProviderUrlProblem(std::string_view url) {
  const std::string_view authority = AuthorityOf(url);
  if (authority.empty() || !IsPlainAscii(url)) return "it is no https URL";
  if (authority.find('@') != std::string_view::npos) return "it has a user";
  if (url.starts_with(kHttp) && !IsLoopbackUrl(url)) {
    return "http is allowed only on loopback; use https";
  }
  return "";
}

std::string IssuerUrlProblem(std::string_view url) {
  const std::string problem = ProviderUrlProblem(url);
  if (!problem.empty()) return problem;
  return url.find_first_of("?#") == std::string_view::npos ? "" : "it has a query or a fragment";
}

// Discovery 1.0, section 4.1: a slash at the end of the issuer is left out.
std::string DiscoveryUrl(const std::string& issuer) {
  const std::string base = issuer.ends_with('/') ? issuer.substr(0, issuer.size() - 1) : issuer;
  return base + "/.well-known/openid-configuration";
}

}  // namespace muster
