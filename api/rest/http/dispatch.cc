// A synchronous handler runs on the reading thread (Run::kInline, unless this request may block),
// on a pool or on the thread of tables, and its result is the answer. An asynchronous handler
// gets a Responder and may answer later, usually on the engine's thread. LateAnswer makes that
// cheap and safe: the engine's thread pushes one task to the writer thread, which renders and sends
// the answer; only the first answer counts; and if the Responder is destroyed unanswered, because
// the engine stopped, the client is told that the outcome is unknown.
#include "api/rest/http/dispatch.h"

#include <atomic>
#include <utility>

#include "api/rest/http/plain_problem.h"

namespace muster::rest {
namespace {

// The text of an exception may hold secrets, so it is not shown.
Response InternalError(bool kubernetes) {
  return PlainProblem(kubernetes, 500, "an internal error; the daemon goes on");
}

// The Responder's way back to the connection, through the writer thread.
class LateAnswer final : public Responder::Exchange {
 public:
  LateAnswer(std::shared_ptr<Connection> connection, std::shared_ptr<ConnectionHost> host,
             bool kubernetes)
      : connection_(std::move(connection)), host_(std::move(host)), kubernetes_(kubernetes) {}
  ~LateAnswer() override {
    Answer([kubernetes = kubernetes_] {
      return PlainProblem(kubernetes, 503,
                          "the scheduler stopped before it answered: ask whether this took effect "
                          "before you repeat it, or repeat it under the same Idempotency-Key");
    });
  }
  void Answer(Responder::ResponseMaker make) override {
    if (answered_.exchange(true)) return;
    host_->workers.PostWriter(
        [connection = connection_, make = std::move(make), kubernetes = kubernetes_] {
      Response response;
      try {
        response = make();
      } catch (...) {
        response = InternalError(kubernetes);
      }
      connection->Finish(std::move(response));
    });
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<ConnectionHost> host_;
  const bool kubernetes_;
  std::atomic<bool> answered_{false};
};

Response RunSync(const SyncHandler& handler, Request& request) {
  try {
    return handler(request);
  } catch (...) {
    return InternalError(request.IsKubernetesPath());
  }
}

void RunAsync(const AsyncHandler& handler, Request& request,
              const std::shared_ptr<LateAnswer>& answer) {
  const bool kubernetes = request.IsKubernetesPath();
  try {
    handler(request, Responder(answer));
  } catch (...) {
    answer->Answer([kubernetes] { return InternalError(kubernetes); });
  }
}

}  // namespace

void Dispatch(std::shared_ptr<Connection> connection, ConnectionHost& host, ParsedRequest read) {
  const bool kubernetes = read.request.IsKubernetesPath();
  if (host.stopping)
    return connection->Finish(PlainProblem(kubernetes, 503, "the daemon is stopping"));
  if (read.match.index < 0) {
    // No route: 405 if the path has other methods, else 404.
    const bool wrong_method = !read.match.allow.empty();
    Response response =
        PlainProblem(kubernetes, wrong_method ? 405 : 404,
                     wrong_method ? "this path does not take the method" : "there is no such path");
    if (wrong_method) response.headers.emplace_back("Allow", read.match.allow);
    return connection->Finish(std::move(response));
  }
  const Route& route = host.routes.routes()[static_cast<std::size_t>(read.match.index)];
  const bool here =
      route.run == Run::kInline && !(route.may_block && route.may_block(read.request));
  read.request.may_wait = !here;
  if (const auto* sync = std::get_if<SyncHandler>(&route.handler)) {
    if (here) return connection->Finish(RunSync(*sync, read.request));
    const bool table =
        route.run == Run::kTable || (route.is_table && route.is_table(read.request));
    auto request = std::make_shared<Request>(std::move(read.request));
    auto task = [connection = std::move(connection), sync, request] {
      connection->Finish(RunSync(*sync, *request));
    };
    if (table) return host.workers.PostTable(std::move(task));
    if (route.run == Run::kMember) return host.workers.PostMember(std::move(task));
    return host.workers.Post(std::move(task));
  }
  const auto* async = std::get_if<AsyncHandler>(&route.handler);
  // The answer holds the host, because the engine's callback may come after the server has gone.
  auto answer = std::make_shared<LateAnswer>(connection, connection->host(), kubernetes);
  if (here) return RunAsync(*async, read.request, answer);
  auto request = std::make_shared<Request>(std::move(read.request));
  host.workers.Post(
      [async, request, answer = std::move(answer)] { RunAsync(*async, *request, answer); });
}

}  // namespace muster::rest
