// Error and Result<T>: how every call of Muster that can fail answers (C++20 has no std::expected
// on gcc 12).
//
// Plain values, no thread-safety of their own. An outcome that is expected (no quota, no member
// cluster fits) is not an Error but a value with a Reason; an Error means that a request is refused
// or that the environment fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schedd/base/check.h"

namespace muster {

/// Numbered like gRPC's canonical codes so that they cross both frontends unchanged.
enum class Code : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,  // the outcome is not known: the caller must find out before it retries
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,  // conflict: stale resourceVersion, lost epoch
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// The closed set of reasons; its enumerators live in schedd/model/reason.h.
enum class Reason : std::uint16_t;

/// One wrong field of a request: a path such as `spec.template.spec.containers[0].name` and a
/// sentence.
struct FieldError {
  std::string field;
  std::string message;
  bool operator==(const FieldError&) const = default;
};

/// Why a call failed. `detail` is one clear sentence for the user: no SQL, no stack, no path of
/// this host.
struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string detail;
  std::vector<FieldError> fields = {};
  std::int64_t retry_after_ms = 0;  // > 0: the caller may try again after this long
  bool audited = false;             // the audit trail has a row of it, so nobody notes it again
};

/// Exactly one of a T or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by intent
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by intent
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
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
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  /// CHECKs that this holds an error.
  const Error& error() const {
    MUSTER_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error& error() {
    MUSTER_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// The value of a call that returns nothing but its success.
struct Done {
  bool operator==(const Done&) const = default;
};
using Status = Result<Done>;

/// Called exactly once, on a thread that the callee's documentation names.
template <class T>
using Callback = std::function<void(Result<T>)>;

/// "INVALID_ARGUMENT" and so on, as gRPC spells them.
const char* CodeName(Code code);
/// The HTTP status of a code (400, 404, 409, 429, 503, ...).
int HttpStatus(Code code);
/// The code of an HTTP status that every server means alike (400, 401, 403, 404, 409, 422, 429);
/// kInternal for all others, of which the caller knows more.
Code CodeOfHttpStatus(int status);

inline Error InvalidArgument(std::string detail) {
  return {Code::kInvalidArgument, std::move(detail)};
}
/// One wrong field; detail reads "field: message".
inline Error InvalidField(const std::string& field, const std::string& message) {
  return {Code::kInvalidArgument, field + ": " + message, {{field, message}}};
}
/// One wrong field; detail is the sentence alone.
inline Error WrongField(std::string field, std::string sentence) {
  Error error = InvalidArgument(sentence);
  error.fields.push_back({std::move(field), std::move(sentence)});
  return error;
}
inline Error NotFound(std::string detail) { return {Code::kNotFound, std::move(detail)}; }
inline Error AlreadyExists(std::string detail) { return {Code::kAlreadyExists, std::move(detail)}; }
inline Error Aborted(std::string detail) { return {Code::kAborted, std::move(detail)}; }
inline Error Unavailable(std::string detail) {
  return {Code::kUnavailable, std::move(detail), {}, 1000};
}
inline Error Internal(std::string detail) { return {Code::kInternal, std::move(detail)}; }
inline Error Overloaded(std::string detail, std::int64_t retry_after_ms) {
  return {Code::kResourceExhausted, std::move(detail), {}, retry_after_ms};
}

}  // namespace muster
