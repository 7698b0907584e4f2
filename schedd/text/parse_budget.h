// ParseBudget: what the documents of one request may become in memory. Values, copies that anchors
// and aliases make, and documents are counted over the whole request, however many texts it has.
//
// Not thread-safe: one budget belongs to one request. Budgets of requests share a pool, which is.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster {

class ParseBudget {
 public:
  /// For text that no request brought: files, settings.
  ParseBudget() = default;
  /// For a request: what it takes beyond limits::kValuesUncounted is also taken from what all
  /// requests of the process share (limits::kValuesInReading), until the budget goes away.
  static ParseBudget ForRequest();
  ParseBudget(ParseBudget&& other) noexcept;
  ParseBudget& operator=(ParseBudget&&) = delete;
  ~ParseBudget();

  /// Each: true if it fits. After the first false, `Refusal` says why.
  bool TakeValues(std::size_t values);
  bool TakeCopy(std::size_t values, std::size_t bytes);
  bool TakeDocument();
  /// kInvalidArgument naming the limit, or kResourceExhausted when others hold what is left.
  Error Refusal() const;

 private:
  enum class Limit { kNone, kValues, kCopiedBytes, kDocuments, kBusy };
  bool shared_ = false;
  std::size_t values_ = 0, copied_bytes_ = 0, documents_ = 0;
  std::size_t pooled_ = 0;  // taken from the pool
  Limit over_ = Limit::kNone;
};

/// As in json.h and yaml.h, within what is left of `budget`.
Result<json::value> ParseJson(std::string_view text, ParseBudget* budget);
Result<std::vector<json::value>> ParseYaml(std::string_view text, ParseBudget* budget);
Result<std::vector<json::value>> ParseDocuments(std::string_view text, ParseBudget* budget);

}  // namespace muster
