// Where the server listens, and the query of a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/percent.h"

namespace muster::client {

/// Either a TCP address or a unix socket.
struct Endpoint {
  std::string host = "127.0.0.1";
  int port = 8686;
  bool tls = false;       // https
  std::string unix_path;  // if not empty, this socket is used instead of host and port
  /// As a user would write it, for messages.
  std::string ToString() const;
  /// HOST:PORT, an IPv6 address in brackets.
  std::string Authority() const;
  bool operator==(const Endpoint&) const = default;
  /// True if what is sent there does not leave this host.
  bool IsLocal() const;
};

/// Accepts "http://HOST[:PORT]", "https://HOST[:PORT]", "HOST:PORT" (http), "http://[::1]:8686" and
/// "unix:/path/to.sock"; the port defaults to 8686. Errors: a path or user info, a bad port.
Result<Endpoint> ParseServerUrl(std::string_view url);

/// One or several of them, separated by commas; at most limits::kServers.
Result<std::vector<Endpoint>> ParseServerList(std::string_view urls);

using muster::PercentEncode;

/// Builds "?a=1&b=2" step by step; values are encoded, empty values are left out.
class Query {
 public:
  Query& Add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace muster::client
