#include "viewer/server/http/http_server.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace countrace::viewer {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Response = http::response<http::string_body>;

// Seconds for a peer whose request was refused or that is done.
constexpr int kDrainSeconds = 2;
constexpr std::uint64_t kDrainBytes = 1 << 20;
// For requests that are in work when a signal ends the server.
constexpr auto kPatience = std::chrono::milliseconds(500);

std::string Text(beast::string_view text) {
  return std::string(text.data(), text.size());
}

HttpRequest ToRequest(http::request<http::string_body>&& message) {
  return {.method = Text(message.method_string()),
          .target = Text(message.target()),
          .host = Text(message[http::field::host]),
          .origin = Text(message[http::field::origin]),
          .cookie = Text(message[http::field::cookie]),
          .authorization = Text(message[http::field::authorization]),
          .content_type = Text(message[http::field::content_type]),
          .fetch_site = Text(message["Sec-Fetch-Site"]),
          .body = std::move(message.body())};
}

Response ToMessage(HttpResponse&& response, unsigned version, bool keep_alive,
                   bool head) {
  Response message{static_cast<http::status>(response.status), version};
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive);
  if (head) {
    message.content_length(response.body.size());
  } else {
    message.body() = std::move(response.body);
    message.prepare_payload();
  }
  return message;
}

// One connection:
//   read --(request)--> answer --(written)--> read ... until a side closes it
// Every wait has a deadline. Lives as long as one of its operations is pending.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket&& socket, const HttpLimits& limits,
             const HttpServer::Handler& handler, std::atomic<int>& open)
      : stream_(std::move(socket)),
        limits_(limits),
        handler_(handler),
        open_(open) {
    open_.fetch_add(1, std::memory_order_relaxed);  // a limit, not an order
  }
  ~Connection() { open_.fetch_sub(1, std::memory_order_relaxed); }

  void Start() {
    asio::dispatch(stream_.get_executor(),
                   [self = shared_from_this()] { self->Read(); });
  }

  // Thread: any.
  bool is_stranger() const { return stranger_.load(std::memory_order_relaxed); }
  void GiveUp() {
    asio::dispatch(stream_.get_executor(),
                   [self = shared_from_this()] { self->stream_.close(); });
  }

 private:
  void Read() {
    parser_.emplace();
    parser_->header_limit(limits_.header_bytes);
    parser_->body_limit(limits_.body_bytes);
    stream_.expires_after(
        std::chrono::seconds(is_stranger() ? limits_.stranger_timeout_seconds
                                           : limits_.timeout_seconds));
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) {
          self->OnRead(error);
        });
  }

  void OnRead(beast::error_code error) {
    if (error == http::error::header_limit) return Reject(431);
    if (error == http::error::body_limit) return Reject(413);
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        (error && error.category() == asio::error::get_system_category())) {
      return Close();
    }
    if (error) return Reject(400);
    http::request<http::string_body> message = parser_->release();
    const unsigned version = message.version();
    const bool keep_alive = message.keep_alive();
    const bool head = message.method() == http::verb::head;
    // Host may be sent only once (RFC 9112, 3.2).
    if (message.count(http::field::host) != 1) return Reject(400);
    HttpResponse response = handler_(ToRequest(std::move(message)));
    if (response.status < 400) {
      stranger_.store(false, std::memory_order_relaxed);
    }
    Write(ToMessage(std::move(response), version, keep_alive, head));
  }

  void Reject(int status) {
    HttpResponse response;
    response.status = status;
    response.body = absl::StrFormat("%d: request refused\n", status);
    Write(ToMessage(std::move(response), 11, /*keep_alive=*/false, false));
  }

  void Write(Response&& message) {
    response_.emplace(std::move(message));
    stream_.expires_after(std::chrono::seconds(limits_.timeout_seconds));
    const bool head =
        !response_->has_content_length() ? false : response_->body().empty();
    const auto done = [self = shared_from_this()](beast::error_code error,
                                                  std::size_t) {
      const bool close = error || self->response_->need_eof();
      self->serializer_.reset();
      self->response_.reset();
      if (close) return self->Close();
      self->Read();
    };
    serializer_.emplace(*response_);
    if (head) {
      // HEAD and empty answers: header only, for any Content-Length.
      http::async_write_header(stream_, *serializer_, done);
    } else {
      http::async_write(stream_, *serializer_, done);
    }
  }

  // Reads and drops data that the peer still sends for a while: closing on
  // unread bytes would reset the connection and lose the answer.
  void Close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(kDrainSeconds));
    Drain();
  }

  void Drain() {
    stream_.async_read_some(asio::buffer(drained_),
                            [self = shared_from_this()](beast::error_code error,
                                                        std::size_t bytes) {
                              self->drained_bytes_ += bytes;
                              if (!error && self->drained_bytes_ < kDrainBytes)
                                self->Drain();
                            });
  }

  beast::tcp_stream stream_;
  const HttpLimits& limits_;
  const HttpServer::Handler& handler_;
  std::atomic<int>& open_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<Response> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::atomic<bool> stranger_{true};
  std::array<char, 4096> drained_;
  std::uint64_t drained_bytes_ = 0;
};

class BeastServer final : public HttpServer {
 public:
  explicit BeastServer(const HttpLimits& limits)
      : limits_(limits),
        context_(limits.threads),
        acceptor_(asio::make_strand(context_)),
        signals_(signal_context_) {}

  absl::Status Bind(std::uint16_t port, const std::string& address) {
    beast::error_code error;
    const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) {
      acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error)
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      return absl::UnavailableError(absl::StrFormat(
          "Cannot listen: address=%s, port=%d, error=%s. Use another port, or "
          "0 for any free one, or an address that `ip address` lists",
          address, port, error.message()));
    }
    return absl::OkStatus();
  }

  std::uint16_t port() const override { return port_; }

  void Run(const Handler& handler, bool stop_on_signals) override {
    handler_ = handler;
    std::thread signalled;
    if (stop_on_signals) {
      signals_.add(SIGINT);
      signals_.add(SIGTERM);
      signals_.async_wait([this](beast::error_code error, int) {
        if (!error) StopSoon();
      });
      signalled = std::thread([this] { signal_context_.run(); });
    }
    Accept();
    std::vector<std::thread> threads;
    for (int i = 1; i < limits_.threads; ++i) {
      threads.emplace_back([this] { context_.run(); });
    }
    context_.run();
    for (std::thread& thread : threads) thread.join();
    {
      const std::lock_guard lock(ending_);
      has_ended_ = true;
    }
    ended_.notify_all();
    signal_context_.stop();
    if (signalled.joinable()) signalled.join();
  }

  void Stop() override { context_.stop(); }

 private:
  // Thread: of signals alone, since all others may be in requests. Some of them
  // may wait for what a hostile file has them read.
  void StopSoon() {
    Stop();
    std::unique_lock lock(ending_);
    if (!ended_.wait_for(lock, kPatience, [this] { return has_ended_; })) {
      _exit(0);
    }
  }

  void Accept() {
    acceptor_.async_accept(
        asio::make_strand(context_),
        [this](beast::error_code error, tcp::socket socket) {
          if (error == asio::error::operation_aborted) return;
          // Without a place the socket closes at once. A lack of descriptors
          // must not end the server.
          if (!error && MakePlace()) {
            const auto connection = std::make_shared<Connection>(
                std::move(socket), limits_, handler_, open_);
            connections_.push_back(connection);
            connection->Start();
          }
          Accept();
        });
  }

  // False if all places are of clients that had an answer.
  bool MakePlace() {
    if (open_.load(std::memory_order_relaxed) < limits_.connections) {
      return true;
    }
    std::erase_if(connections_,
                  [](const auto& connection) { return connection.expired(); });
    for (auto at = connections_.begin(); at != connections_.end(); ++at) {
      const std::shared_ptr<Connection> connection = at->lock();
      if (connection == nullptr || !connection->is_stranger()) continue;
      connection->GiveUp();
      connections_.erase(at);
      return true;
    }
    return false;
  }

  HttpLimits limits_;
  Handler handler_;
  // Declared before the context, whose handlers decrement it in its destructor.
  std::atomic<int> open_{0};
  // Oldest first. Only the acceptor's strand uses it.
  std::vector<std::weak_ptr<Connection>> connections_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  asio::io_context signal_context_;
  asio::signal_set signals_;
  std::mutex ending_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::uint16_t port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    std::uint16_t port, const HttpLimits& limits, const std::string& address) {
  auto server = std::make_unique<BeastServer>(limits);
  const absl::Status bound = server->Bind(port, address);
  if (!bound.ok()) return bound;
  return server;
}

}  // namespace countrace::viewer
