// HttpClient: one keep-alive connection to a daemon on this machine, one request at a time.
#pragma once

#include <cstddef>
#include <string>

#include "schedd/base/result.h"

namespace muster::bench {

/// A connected socket without Nagle's delay; -1 if it cannot connect.
int Dial(int port);
/// The size of the complete answer at the start of `in`; 0 while it is incomplete.
std::size_t AnswerSize(const std::string& in);

/// Blocking. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(int port) : port_(port) {}
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The body of the answer. Errors: a status over 299, or the connection broke; the next call
  /// connects again.
  Result<std::string> Call(const std::string& method, const std::string& path,
                           const std::string& body = "");

 private:
  void Close();
  int port_;
  int fd_ = -1;
};

}  // namespace muster::bench
