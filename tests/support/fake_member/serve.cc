// How a fake member answers a request: authentication first, then the user's rights, then the
// faults, then the request.
#include <sys/socket.h>

#include "schedd/base/check.h"
#include "tests/support/fake_member/member_impl.h"

namespace muster::fake {

namespace {

// Bound to the port of loopback, which other sockets of this user may share if they ask for it; 0:
// any free one.
std::unique_ptr<Tcp::acceptor> Bound(asio::io_context& io, int port) {
  auto out = std::make_unique<Tcp::acceptor>(io);
  out->open(Tcp::v4());
  out->set_option(Tcp::acceptor::reuse_address(true));
  const int shared = 1;
  MUSTER_CHECK(
      ::setsockopt(out->native_handle(), SOL_SOCKET, SO_REUSEPORT, &shared, sizeof shared) == 0);
  out->bind({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
  return out;
}

}  // namespace

// `reserved` never listens, so connections go to `acceptor` or are refused.
void FakeMember::Impl::Listen() {
  std::lock_guard lock(mutex);
  if (acceptor != nullptr) return;
  if (reserved == nullptr) {
    reserved = Bound(loop.io, port);
    port = reserved->local_endpoint().port();
  }
  acceptor = Bound(loop.io, port);
  acceptor->listen(1024);
  asio::post(loop.io, [self = shared_from_this()] { self->Accept(); });
}

void FakeMember::Impl::Accept() {
  std::lock_guard lock(mutex);
  if (acceptor == nullptr) return;
  acceptor->async_accept(
      [self = shared_from_this()](boost::system::error_code failed, Tcp::socket socket) {
    if (failed == asio::error::operation_aborted) return;
    if (!failed) StartSession(self, std::move(socket));
    self->Accept();
  });
}

void FakeMember::Impl::StopListening() {
  std::lock_guard lock(mutex);
  if (acceptor == nullptr) return;
  boost::system::error_code ignored;
  acceptor->close(ignored);
  acceptor.reset();
}

void FakeMember::Impl::BreakAll() {
  std::lock_guard lock(mutex);
  waiting.clear();
  hung.clear();
  for (const auto& weak : connections) {
    if (const ConnectionPtr connection = weak.lock())
      asio::post(loop.io, [connection] { connection->Break(); });
  }
  connections.clear();
}

void FakeMember::Impl::Shutdown() {
  StopListening();
  BreakAll();
  std::lock_guard lock(mutex);
  over = true;
  paused = false;
  reserved.reset();
  asio::post(loop.io, [self = shared_from_this()] {
    std::lock_guard again(self->mutex);
    if (self->timer != nullptr) self->timer->cancel();
    for (const auto& delay : self->delays) delay->cancel();
  });
}

void FakeMember::Impl::Serve(const ConnectionPtr& connection, Request request) {
  std::lock_guard lock(mutex);
  const Route route = api.Read(request);
  if (route.path.starts_with("/fake/")) return connection->Answer(Control(request, route));
  if (paused) {
    waiting.emplace_back(connection, std::move(request));
    return;
  }
  if (!token.empty() && request.authorization != "Bearer " + token)
    return connection->Answer(Unauthorized());
  if (route.resource >= 0) {
    const std::string& plural =
        cluster.store().resources()[static_cast<std::size_t>(route.resource)].plural;
    ++cluster.counts().requests[route.verb + " " + plural];
    if (const auto refused = rights.Refusal(route, cluster.resource({route.resource, "", ""})))
      return connection->Answer(*refused);
  }
  const Fault* fault = faults.Match(route);
  if (fault == nullptr) return DoAndAnswer(connection, request, route, nullptr);
  Obey(connection, request, route, Fault(*fault));
}

void FakeMember::Impl::Obey(const ConnectionPtr& connection, const Request& request,
                            const Route& route, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kDrop:
      return connection->Break();
    case FaultKind::kDropAnswer:
      Do(request, route);
      return connection->Break();
    case FaultKind::kGatewayTimeout:
      Do(request, route);
      return connection->Answer(
          {504, "upstream request timeout", "text/plain; charset=utf-8", fault.retry_after_s});
    case FaultKind::kAnswer: {
      Answer answer = Failure(fault.status, fault.reason, fault.message);
      answer.retry_after_s = fault.retry_after_s;
      return connection->Answer(answer);
    }
    case FaultKind::kDuplicate: {
      const Answer first = Do(request, route);
      Do(request, route);
      return connection->Answer(first);
    }
    case FaultKind::kDelay:
      return After(fault.delay_ms, [self = shared_from_this(), connection, request, route] {
        std::lock_guard lock(self->mutex);
        self->DoAndAnswer(connection, request, route, nullptr);
      });
    case FaultKind::kLate:
      After(fault.delay_ms, [self = shared_from_this(), request, route] {
        std::lock_guard lock(self->mutex);
        self->Do(request, route);
      });
      if (fault.status != 0)
        return connection->Answer(
            {fault.status, "upstream request timeout", "text/plain; charset=utf-8"});
      hung.push_back(connection);
      return;
    case FaultKind::kHang:
      hung.push_back(connection);
      return;
    case FaultKind::kMutate:
    case FaultKind::kStall:
    case FaultKind::kClose:
    case FaultKind::kGone:
    case FaultKind::kReorder:
      return DoAndAnswer(connection, request, route, &fault);
  }
}

Answer FakeMember::Impl::Do(const Request& request, const Route& route, const Fault* mutation) {
  if (Rights::IsReview(request, route)) return rights.Review(request);
  if (mutation != nullptr) cluster.SetMutation(&mutation->patch);
  Answer answer = api.Handle(request, route, Writer::kClient);
  cluster.SetMutation(nullptr);
  SettleAndArm();
  return answer;
}

void FakeMember::Impl::DoAndAnswer(const ConnectionPtr& connection, const Request& request,
                                   const Route& route, const Fault* fault) {
  Answer refusal;
  if (route.resource >= 0 && route.verb == "watch") {
    if (auto order = api.Watch(route, &refusal)) return connection->Watch(std::move(*order), fault);
    return connection->Answer(refusal);
  }
  if (route.resource >= 0 && route.verb == "log") {
    if (auto order = api.Log(route, &refusal)) return connection->Log(std::move(*order));
    return connection->Answer(refusal);
  }
  const bool mutate = fault != nullptr && fault->kind == FaultKind::kMutate;
  connection->Answer(Do(request, route, mutate ? fault : nullptr));
}

}  // namespace muster::fake
