// Reads the address of the server that a user wrote, and builds query strings. Each error names the
// whole address and what is wrong with it, because it may come from a flag, a variable or a file.
#include "clients/lib/endpoint.h"

#include <arpa/inet.h>

#include <charconv>

#include "schedd/base/limits_server_list.h"

namespace muster::client {
namespace {

// rule C4
constexpr int kDefaultPort = 8686;

Error BadUrl(std::string_view url, const std::string& why) {
  return InvalidArgument("server address \"" + std::string(url) + "\" " + why);
}

}  // namespace

// An IPv6 address stands in brackets, as in a URL.
std::string Endpoint::ToString() const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  return (tls ? "https://" : "http://") + Authority();
}

std::string Endpoint::Authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// A name other than localhost may lead anywhere.
bool Endpoint::IsLocal() const {
  unsigned char bytes[4];
  if (!unix_path.empty() || host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), bytes) == 1;
}

// The steps: unix sockets are taken first; then the scheme is removed, a trailing slash too; what
// is left must be HOST or HOST:PORT, where HOST may be an IPv6 address in brackets.
Result<Endpoint> ParseServerUrl(std::string_view url) {
  Endpoint out;
  std::string_view rest = url;
  if (rest.starts_with("unix:")) {
    out.unix_path = std::string(rest.substr(5));
    if (out.unix_path.starts_with("//")) out.unix_path.erase(0, 2);
    if (out.unix_path.empty() || out.unix_path[0] != '/')
      return BadUrl(url, "names no absolute socket path");
    return out;
  }
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    out.tls = true;
  } else if (rest.starts_with("http://"))
    rest.remove_prefix(7);
  else if (rest.find("://") != std::string_view::npos)
    return BadUrl(url, "is neither http://, https:// nor unix:");
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@ ") != std::string_view::npos) {
    return BadUrl(url, "may only have a host and a port");
  }
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return BadUrl(url, "has no closing bracket");
    out.host = std::string(rest.substr(1, close - 1));
    port = rest.substr(close + 1);
  } else {
    const std::size_t colon = rest.find(':');
    out.host = std::string(rest.substr(0, colon));
    port = colon == std::string_view::npos ? std::string_view() : rest.substr(colon);
  }
  if (out.host.empty()) return BadUrl(url, "names no host");
  out.port = kDefaultPort;
  if (!port.empty()) {
    const char* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data() + 1, end, out.port);
    if (port[0] != ':' || error != std::errc() || stop != end || out.port < 1 || out.port > 65535) {
      return BadUrl(url, "has a bad port");
    }
  }
  return out;
}

Result<std::vector<Endpoint>> ParseServerList(std::string_view urls) {
  std::vector<Endpoint> out;
  for (;;) {
    const std::size_t comma = urls.find(',');
    Result<Endpoint> one = ParseServerUrl(urls.substr(0, comma));
    if (!one.ok()) return one.error();
    if (out.size() == limits::kServers)
      return InvalidArgument("more than " + std::to_string(limits::kServers) +
                             " servers are listed");
    out.push_back(std::move(one).value());
    if (comma == std::string_view::npos) return out;
    urls.remove_prefix(comma + 1);
  }
}

// An empty value means that the caller has no such filter, so the parameter is left out.
Query& Query::Add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += text_.empty() ? '?' : '&';
  text_ += name;
  text_ += '=';
  text_ += PercentEncode(value);
  return *this;
}

}  // namespace muster::client
