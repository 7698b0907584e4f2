// ClientCore and the lead: requests other than GET are sent only while this daemon leads.
//
// The permit is asked when a request gets a connection, and again right before its bytes are
// written, part by part, each time it is repeated: name look-up, TCP and TLS take time in between,
// in which the lead may end. A request whose permit does not hold now but is not void waits in
// leadless_ and goes back to the queue every kLeadAskedAgainMs; its own deadline still counts.
#include <utility>

#include "backends/k8s/client/client_core.h"
#include "schedd/base/limits.h"

namespace muster::k8s {

// Gives a writing request without a permit that of the client's lead as it is now.
void ClientCore::TakePermit(ApiRequest* request) const {
  if (options_.lead != nullptr && request->writes() && !request->permit.given())
    request->permit = options_.lead->Current();
}

bool ClientCore::MayWrite(const Exchange& exchange) {
  return !exchange.request.writes() || exchange.request.permit.Holds();
}

void ClientCore::AwaitLead(const ExchangePtr& exchange) {
  if (exchange->request.permit.IsVoid()) {
    return Finish(exchange,
                  Named(Unavailable("this daemon does not lead any more: nothing was sent")));
  }
  leadless_.push_back(exchange);
  if (lead_timer_.second != 0) return;
  lead_timer_ = deadlines_->After(limits::kLeadAskedAgainMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->ReturnLeadless();
    self->Pump();
  });
}

void ClientCore::Withheld(const ExchangePtr& exchange) {
  Leave(exchange, false);
  AwaitLead(exchange);
  Pump();
}

void ClientCore::ReturnLeadless() {
  deadlines_->Drop(&lead_timer_);
  lead_timer_ = {};
  for (ExchangePtr& exchange : std::exchange(leadless_, {})) {
    if (exchange->stage == Exchange::Stage::kWaiting) queue_.Push(std::move(exchange));
  }
}

}  // namespace muster::k8s
