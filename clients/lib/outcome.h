// Outcome<T>: how a call to the server ends. Unlike Result it distinguishes a request that the
// server refused from a server that cannot be reached, because the commands' exit codes do
// (rule C2: 1 and 3).
//
// Plain values.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schedd/base/check.h"
#include "schedd/base/result.h"

namespace muster::client {

/// Why a call failed.
struct Failure {
  enum class Kind : std::uint8_t {
    kRefused,      // the server answered with an error status
    kUnreachable,  // no connection, or it broke before the answer was complete
    kTimedOut,     // our own deadline passed; the request may have taken effect
    kBadAnswer,    // the answer is not what the API promises
    kLocal,        // an error of this side: a bad URL, an unreadable file
  };
  Kind kind = Kind::kLocal;
  int status = 0;                       // HTTP status of a refusal, else 0
  std::string detail;                   // one sentence
  std::vector<FieldError> fields = {};  // problem+json errors[], or Status.details.causes[]
  int retry_after_s = 0;                // from Retry-After, 0 if absent
  bool not_sent = false;                // there was no connection, so nothing has happened
};

/// The exit status of `muster` for a failure: 3 when the server cannot be reached, 1 otherwise.
inline int ExitCodeOf(const Failure& failure) {
  return failure.kind == Failure::Kind::kUnreachable || failure.kind == Failure::Kind::kTimedOut
             ? 3
             : 1;
}

/// Exactly one of a T or a Failure.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}            // NOLINT: implicit by intent
  Outcome(Failure failure) : state_(std::move(failure)) {}  // NOLINT: implicit by intent
  bool ok() const { return state_.index() == 0; }
  /// CHECKs that this holds a value.
  const T& value() const& {
    MUSTER_CHECK(ok());
    return std::get<0>(state_);
  }
  T& value() & {
    MUSTER_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    MUSTER_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& operator*() const { return value(); }
  /// CHECKs that this holds a failure.
  const Failure& failure() const {
    MUSTER_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Failure> state_;
};

/// A failure that no server was asked about.
inline Failure LocalFailure(std::string detail) {
  return {Failure::Kind::kLocal, 0, std::move(detail), {}, 0};
}
/// The server answered with something that the API does not allow.
inline Failure BadAnswer(std::string detail) {
  return {Failure::Kind::kBadAnswer, 0, std::move(detail), {}, 0};
}

}  // namespace muster::client
