// Counters of one request, and one atomic counter of all requests. A request takes from the shared
// counter in steps of kPoolStep, so that counting values costs almost nothing, and gives everything
// back when it is destroyed. Its first kValuesUncounted values are free, so small requests never
// wait for large ones.
#include "schedd/text/parse_budget.h"

#include <atomic>
#include <string>
#include <utility>

#include "schedd/base/limits.h"

namespace muster {
namespace {

// A large request is read within a fraction of a second.
constexpr std::int64_t kRetryMs = 1000;
// Values taken from the pool at a time.
constexpr std::size_t kPoolStep = 4096;
// Values that all budgets of the process have taken from the pool.
std::atomic<std::size_t> values_in_reading{0};

// Adds first and takes back if it was too much: two requests at the limit may both be refused, but
// never both admitted.
bool TakeFromPool(std::size_t values) {
  if (values_in_reading.fetch_add(values) + values <= limits::kValuesInReading) return true;
  values_in_reading.fetch_sub(values);
  return false;
}

}  // namespace

ParseBudget ParseBudget::ForRequest() {
  ParseBudget budget;
  budget.shared_ = true;
  return budget;
}

ParseBudget::ParseBudget(ParseBudget&& other) noexcept
    : shared_(other.shared_),
      values_(other.values_),
      copied_bytes_(other.copied_bytes_),
      documents_(other.documents_),
      pooled_(std::exchange(other.pooled_, 0)),
      over_(other.over_) {}

ParseBudget::~ParseBudget() { values_in_reading.fetch_sub(pooled_); }

bool ParseBudget::TakeValues(std::size_t values) {
  if (over_ != Limit::kNone) return false;
  if (values > limits::kRequestValues - values_) {
    over_ = Limit::kValues;
    return false;
  }
  values_ += values;
  // What was taken stays taken after a refusal: the destructor gives it back.
  while (shared_ && values_ > limits::kValuesUncounted + pooled_) {
    if (!TakeFromPool(kPoolStep)) {
      over_ = Limit::kBusy;
      return false;
    }
    pooled_ += kPoolStep;
  }
  return true;
}

bool ParseBudget::TakeCopy(std::size_t values, std::size_t bytes) {
  if (!TakeValues(values)) return false;
  copied_bytes_ += bytes;
  if (copied_bytes_ > limits::kRequestCopiedBytes) over_ = Limit::kCopiedBytes;
  return over_ == Limit::kNone;
}

bool ParseBudget::TakeDocument() {
  if (++documents_ > limits::kYamlDocuments && over_ == Limit::kNone) over_ = Limit::kDocuments;
  return over_ == Limit::kNone;
}

Error ParseBudget::Refusal() const {
  switch (over_) {
    case Limit::kValues:
      return InvalidArgument("more than " + std::to_string(limits::kRequestValues) +
                             " values in one request, copies made by anchors and aliases included");
    case Limit::kCopiedBytes:
      return InvalidArgument("anchors and aliases repeat more than " +
                             std::to_string(limits::kRequestCopiedBytes) +
                             " bytes of text in one request");
    case Limit::kDocuments:
      return InvalidArgument("more than " + std::to_string(limits::kYamlDocuments) +
                             " documents in one request: send the rest in another");
    default:
      return Overloaded("other large requests are being read; try again", kRetryMs);
  }
}

}  // namespace muster
