// HTTP/1.1 of a fake member: requests one after the other, long answers in chunks.
#include <algorithm>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>

#include "tests/support/fake_member/member_impl.h"

namespace muster::fake {
namespace {

namespace http = boost::beast::http;
using MemberPtr = std::shared_ptr<FakeMember::Impl>;

constexpr std::size_t kMostPending = std::size_t{64} << 20;  // bytes for a stalled client
constexpr std::uint64_t kMostBody = std::uint64_t{8} << 20;

class Session;

// A watch or a followed log: collects text under the member's mutex, sends it on the loop.
class LongAnswer final : public Stream, public std::enable_shared_from_this<LongAnswer> {
 public:
  LongAnswer(MemberPtr member, std::shared_ptr<Session> session)
      : member_(std::move(member)), session_(std::move(session)) {}
  ~LongAnswer() override { Leave(); }

  void OpenWatch(WatchOrder order, const Fault* fault);
  void OpenLog(LogOrder order);

  void OnChange(const ChangePtr& change) override;
  void Close() override {
    ended_ = true;
    Wake();
  }
  void Bookmark() override;
  void Nudge() override;
  // On the loop.
  void Flush();

 private:
  void Tell(const char* type, std::string_view object) {
    pending_ += R"({"type":")";
    pending_ += type;
    pending_ += R"(","object":)";
    pending_ += object;
    pending_ += "}\n";
    last_type_ = type;
    if (pending_.size() > kMostPending) ended_ = true;
  }
  void TellChange(const Change& change);
  void TellBookmark(bool initial_end);
  void TellGone() {
    Tell("ERROR", Expired("too old resource version: " + std::to_string(order_.after) + " (" +
                          std::to_string(member_->cluster.store().version()) + ")")
                      .body);
  }
  void Wake();
  void Leave();
  void BookmarkLater();

  const MemberPtr member_;
  std::shared_ptr<Session> session_;
  WatchOrder order_;
  std::optional<LogOrder> log_;
  std::size_t log_told_ = 0;
  bool joined_ = false, ended_ = false, waking_ = false, sending_ = false;
  bool stalled_ = false, reorder_ = false;
  std::int64_t events_left_ = -1;
  std::int64_t seen_ = 0;
  std::vector<ChangePtr> held_;  // changes that kReorder sends in another order
  std::string pending_, sending_text_;
  const char* last_type_ = "";
};

class Session final : public Connection, public std::enable_shared_from_this<Session> {
 public:
  Session(MemberPtr member, Tcp::socket socket)
      : member_(std::move(member)), socket_(std::move(socket)) {
    boost::system::error_code ignored;
    socket_.set_option(Tcp::no_delay(true), ignored);
  }

  void Read() {
    parser_.emplace();
    parser_->body_limit(kMostBody);
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](boost::system::error_code failed, std::size_t) {
      if (failed) return self->End();
      self->Take();
    });
  }

  void Answer(const fake::Answer& answer) override {
    out_ = "HTTP/1.1 " + std::to_string(answer.status) + " " +
           std::string(http::obsolete_reason(static_cast<http::status>(answer.status))) +
           "\r\nContent-Type: " + answer.content_type +
           "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n";
    if (answer.retry_after_s >= 0)
      out_ += "Retry-After: " + std::to_string(answer.retry_after_s) + "\r\n";
    if (!keep_alive_) out_ += "Connection: close\r\n";
    out_ += "\r\n";
    if (!head_) out_ += answer.body;
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](boost::system::error_code failed, std::size_t) {
      if (failed || !self->keep_alive_) return self->End();
      self->Read();
    });
  }

  void Watch(WatchOrder order, const Fault* fault) override {
    Begin("application/json");
    long_answer_->OpenWatch(std::move(order), fault);
  }
  void Log(LogOrder order) override {
    Begin("text/plain");
    long_answer_->OpenLog(std::move(order));
  }

  void Break() override {
    boost::system::error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    End();
  }

  // Sends a chunk, the last one if it is empty.
  void Send(std::string& text, bool last, std::function<void(bool)> done) {
    out_.clear();
    if (!text.empty()) {
      char size[20];
      const auto end = std::to_chars(size, size + sizeof(size), text.size(), 16).ptr;
      out_.assign(size, static_cast<std::size_t>(end - size));
      out_ += "\r\n" + text + "\r\n";
    }
    if (last) out_ += "0\r\n\r\n";
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this(), done = std::move(done)](
                          boost::system::error_code failed, std::size_t) { done(!failed); });
  }

  void End() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    const auto gone = std::move(long_answer_);
    if (gone != nullptr) {
      std::lock_guard lock(member_->mutex);
      gone->Close();
    }
  }

  asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  void Take() {
    auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    head_ = message.method() == http::verb::head;
    Request request{std::string(message.method_string()), std::string(message.target()),
                    std::string(message[http::field::content_type]),
                    std::string(message[http::field::authorization]), std::move(message.body())};
    member_->Serve(shared_from_this(), std::move(request));
  }

  void Begin(const std::string& type) {
    long_answer_ = std::make_shared<LongAnswer>(member_, shared_from_this());
    out_ = "HTTP/1.1 200 OK\r\nContent-Type: " + type +
           "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(out_), ignored);
    // The end of the client's stream shows that the client is gone.
    socket_.async_read_some(
        asio::buffer(&scrap_, 1),
        [self = shared_from_this()](boost::system::error_code, std::size_t) { self->End(); });
  }

  const MemberPtr member_;
  Tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<LongAnswer> long_answer_;
  std::string out_;
  char scrap_ = 0;
  bool keep_alive_ = true, head_ = false;
};

void LongAnswer::OpenWatch(WatchOrder order, const Fault* fault) {
  std::lock_guard lock(member_->mutex);
  order_ = std::move(order);
  seen_ = order_.after;
  if (fault != nullptr) {
    stalled_ = fault->kind == FaultKind::kStall;
    reorder_ = fault->kind == FaultKind::kReorder;
    if (fault->kind == FaultKind::kClose) events_left_ = fault->events;
    if (fault->kind == FaultKind::kGone) order_.expired = true;
  }
  if (order_.expired) {
    TellGone();
    return Close();
  }
  member_->streams.insert(this);
  member_->cluster.store().AddWatcher(order_.resource, this);
  joined_ = true;
  for (const std::string& text : order_.first) {
    if (!stalled_) Tell("ADDED", text);
  }
  order_.first.clear();
  if (order_.initial_end && !stalled_) TellBookmark(true);
  std::vector<ChangePtr> missed;
  member_->cluster.store().ChangesSince(order_.resource, order_.after, &missed);
  for (const ChangePtr& change : missed) OnChange(change);
  if (events_left_ == 0) ended_ = true;
  if (order_.bookmarks) BookmarkLater();
  if (order_.timeout_s > 0) {
    member_->After(order_.timeout_s * 1000, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      std::lock_guard again(self->member_->mutex);
      self->Close();
    });
  }
  Wake();
}

void LongAnswer::OpenLog(LogOrder order) {
  std::lock_guard lock(member_->mutex);
  log_ = std::move(order);
  pending_ = log_->text;
  const std::string container;
  log_told_ = member_->api.LogOf(log_->pod, container).size();
  if (!log_->follow) return Close();
  order_.resource = log_->pod.resource;
  member_->streams.insert(this);
  member_->cluster.store().AddWatcher(order_.resource, this);
  joined_ = true;
  const Record* pod = member_->cluster.store().Find(log_->pod);
  if (pod == nullptr || pod->ended) ended_ = true;
  Wake();
}

void LongAnswer::OnChange(const ChangePtr& change) {
  if (ended_) return;
  if (log_) {
    if (change->key == log_->pod && (change->ended || change->type == ChangeType::kDeleted)) {
      ended_ = true;
      Wake();
    }
    return;
  }
  if (stalled_ || change->version <= seen_) return;
  seen_ = change->version;
  if (!order_.ns.empty() && change->key.ns != order_.ns) return;
  if (reorder_) {
    held_.push_back(change);
  } else {
    TellChange(*change);
  }
  Wake();
}

// An object that begins or ceases to match the selector is sent as ADDED or DELETED.
void LongAnswer::TellChange(const Change& change) {
  const auto picks = [&](const LabelsPtr& labels, const TextPtr& text) {
    return labels != nullptr && text != nullptr && order_.labels.Matches(*labels) &&
           order_.fields.Matches(change.key.ns, change.key.name, *text);
  };
  const bool was = picks(change.labels_before, change.before);
  const bool is = change.type != ChangeType::kDeleted && picks(change.labels, change.text);
  if (!was && !is) return;
  Tell(!was ? "ADDED" : is ? "MODIFIED" : "DELETED", *change.text);
  if (events_left_ > 0 && --events_left_ == 0) ended_ = true;
}

void LongAnswer::TellBookmark(bool initial_end) {
  const Resource& resource =
      member_->cluster.store().resources()[static_cast<std::size_t>(order_.resource)];
  json::object metadata{
      {"resourceVersion", std::to_string(std::max(seen_, member_->cluster.store().version()))}};
  if (initial_end) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  Tell("BOOKMARK", json::serialize(json::object{{"kind", resource.kind},
                                                {"apiVersion", resource.api_version()},
                                                {"metadata", std::move(metadata)}}));
}

void LongAnswer::Bookmark() {
  if (!order_.bookmarks || ended_ || stalled_) return;
  TellBookmark(false);
  Wake();
}

void LongAnswer::BookmarkLater() {
  member_->After(member_->options.bookmark_ms, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    std::lock_guard lock(self->member_->mutex);
    if (self->ended_) return;
    if (!self->member_->paused) self->Bookmark();
    self->BookmarkLater();
  });
}

void LongAnswer::Nudge() {
  if (log_ && !ended_ && member_->cluster.store().Find(log_->pod) != nullptr) {
    const std::string all = member_->api.LogOf(log_->pod, "");
    if (all.size() > log_told_) pending_ += all.substr(log_told_);
    log_told_ = all.size();
  }
  Wake();
}

void LongAnswer::Wake() {
  if (waking_) return;
  waking_ = true;
  asio::post(member_->loop.io, [self = shared_from_this()] { self->Flush(); });
}

void LongAnswer::Flush() {
  std::lock_guard lock(member_->mutex);
  waking_ = false;
  if (sending_ || session_ == nullptr || member_->paused) return;
  if (!held_.empty()) {
    // Each object's own changes stay in order.
    std::vector<Key> keys;
    for (const ChangePtr& change : held_) {
      if (std::find(keys.begin(), keys.end(), change->key) == keys.end())
        keys.push_back(change->key);
    }
    std::reverse(keys.begin(), keys.end());
    for (const Key& key : keys) {
      for (const ChangePtr& change : held_) {
        if (change->key == key) TellChange(*change);
      }
    }
    held_.clear();
  }
  if (pending_.empty() && !ended_) return;
  sending_ = true;
  sending_text_ = std::move(pending_);
  pending_.clear();
  const bool last = ended_;
  session_->Send(sending_text_, last, [self = shared_from_this(), last](bool sent) {
    const auto session = self->session_;
    {
      std::lock_guard again(self->member_->mutex);
      self->sending_ = false;
      if (last || !sent) self->Leave();
    }
    if (session != nullptr && (last || !sent)) return session->End();
    self->Flush();
  });
}

void LongAnswer::Leave() {
  std::lock_guard lock(member_->mutex);
  if (joined_) member_->cluster.store().RemoveWatcher(order_.resource, this);
  joined_ = false;
  member_->streams.erase(this);
  session_.reset();
}

}  // namespace

void StartSession(std::shared_ptr<FakeMember::Impl> member, Tcp::socket socket) {
  const auto session = std::make_shared<Session>(member, std::move(socket));
  {
    std::lock_guard lock(member->mutex);
    auto& all = member->connections;
    for (auto it = all.begin(); it != all.end();)
      it = it->expired() ? all.erase(it) : std::next(it);
    all.insert(session);
  }
  session->Read();
}

}  // namespace muster::fake
