// ParseBudget: how much memory the documents of one request may take. Values, copies that YAML
// anchors and aliases make, and documents are counted over the whole request, however many texts it
// has.
//
// Not thread-safe: a budget belongs to one request. The pool that budgets share is thread-safe.
#pragma once

#include <cstddef>

#include "schedd/base/result.h"

namespace muster {

class ParseBudget {
 public:
  /// For texts that do not come with a request: files, settings.
  ParseBudget() = default;
  /// For a request: its values beyond limits::kValuesUncounted are also taken from a pool that all
  /// requests of the process share (limits::kValuesInReading), until the budget is destroyed.
  static ParseBudget ForRequest();
  ParseBudget(ParseBudget&& other) noexcept;
  ParseBudget& operator=(ParseBudget&&) = delete;
  ~ParseBudget();

  /// Each returns true if it fits. After the first false, Refusal says why.
  bool TakeValues(std::size_t values);
  bool TakeCopy(std::size_t values, std::size_t bytes);
  bool TakeDocument();
  /// kInvalidArgument naming the limit, or kResourceExhausted if other requests hold the pool.
  Error Refusal() const;

 private:
  enum class Limit { kNone, kValues, kCopiedBytes, kDocuments, kBusy };
  bool shared_ = false;
  std::size_t values_ = 0, copied_bytes_ = 0, documents_ = 0;
  // Taken from the pool.
  std::size_t pooled_ = 0;
  Limit over_ = Limit::kNone;
};

}  // namespace muster
