// RequestReader: the guard. Turns the bytes of one connection into requests, one at a time and
// strictly: it refuses every request that two parsers could read differently (request smuggling),
// and every size before memory is allocated for it.
//
// Boost.Beast's parser does the grammar. The guard adds the limits, the rules of RFC 9112 that
// Beast leaves to its caller, and what a service must refuse that browsers can reach and that knows
// local clients by their account (cross-origin requests and rebound host names: a web page would
// act as the user whose browser shows it). Not thread-safe: one reader belongs to one
// connection. No I/O.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/http/route_table.h"

namespace muster::rest {

/// A request and its route.
struct ParsedRequest {
  Request request;
  RouteMatch match;
  bool keep_alive = true;  // the client allows another request on this connection
  bool http_1_0 = false;   // no chunked answers
};

/// Why the bytes were refused. The connection ends after the answer.
struct Refusal {
  int status = 400;
  std::string detail;
  bool kubernetes = false;  // answer as metav1.Status
  std::string allow;        // methods of the path, for 405
};

class RequestReader {
 public:
  enum class Step {
    kNeedMore,
    kContinue,  // the client waits for "100 Continue"; then call Next again
    kRequest,   // a request is complete: call Take
    kRefused,   // see refusal(); the reader is dead
  };
  /// `unix_socket`: the bytes come over a Unix socket, which no browser can open; then any Host is
  /// taken.
  explicit RequestReader(const RouteTable& routes, bool unix_socket = false);
  ~RequestReader();

  /// The connection speaks TLS, and the server has these names (TlsContext::names); they must
  /// outlive the reader's use. Null: plain, on loopback or a Unix socket.
  void ExpectHttps(const std::vector<std::string>* names) { https_names_ = names; }
  void Feed(std::string_view bytes);
  Step Next();
  ParsedRequest Take();
  const Refusal& refusal() const { return refusal_; }
  /// Bytes in memory: unparsed ones, and the body so far.
  std::size_t held() const;
  /// Bytes not parsed yet.
  std::size_t unparsed() const { return in_.size() - parsed_; }
  /// True from a request's first byte until the request is complete.
  bool mid_request() const { return started_; }

 private:
  struct Parser;
  Step Refuse(int status, std::string detail);
  Step ReadHeader();
  Step CheckHeader();
  Step CheckOrigin();
  Step ReadSender();
  Step CheckFraming();
  Step ReadBody();
  Step Finish();
  void Consume(std::size_t bytes);

  const RouteTable& routes_;
  const bool unix_socket_;
  const std::vector<std::string>* https_names_ = nullptr;
  std::string in_;
  std::size_t parsed_ = 0;  // bytes of in_ that are parsed
  std::unique_ptr<Parser> parser_;
  bool started_ = false, header_done_ = false, dead_ = false, skipped_blank_line_ = false;
  std::size_t body_limit_ = 0;
  std::size_t wire_bytes_ = 0;  // size of the header block, then of the body with its framing
  ParsedRequest current_;
  Refusal refusal_;
};

/// True if the authority of a Host header is an IP address or localhost, with or without a port.
/// Any other name is refused: a web page could have rebound it to this host.
bool IsLocalAuthority(std::string_view authority);

/// True if the authority of a Host header is one of `names`, which are in lower case, with or
/// without a port; "*.example.org" is any name with one label more than example.org (rule U43).
bool IsNamedAuthority(std::string_view authority, const std::vector<std::string>& names);

}  // namespace muster::rest
