// The server without a site, over real sockets: several clients at once, its
// limits, requests that are none, and a stop at any moment.
#include "viewer/server/http/http_server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/viewer/http_client.h"

namespace countrace::viewer {
namespace {

constexpr char kGet[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Answers with the target and the body.
HttpResponse Echo(const HttpRequest& request) {
  HttpResponse response;
  response.body = request.method + " " + request.target + " " + request.body;
  return response;
}

std::string Post(const std::string& target, const std::string& body) {
  return "POST " + target + " HTTP/1.1\r\nHost: a\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A server that runs in a thread of its own until Stop().
class Running {
 public:
  explicit Running(const HttpLimits& limits,
                   HttpServer::Handler handler = Echo) {
    auto server = HttpServer::Listen(0, limits);
    REQUIRE(server.ok());
    server_ = *std::move(server);
    thread_ = std::thread([this, handler = std::move(handler)] {
      server_->Run(handler, /*stop_on_signals=*/false);
    });
  }
  ~Running() { Stop(); }

  // Returns when the server serves no longer.
  void Stop() {
    server_->Stop();
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return server_->port(); }
  HttpServer& server() { return *server_; }

 private:
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

// Runs `client(i)` in `count` threads at the same time. Returns how many of
// them returned true.
template <typename Client>
int InThreads(int count, const Client& client) {
  std::atomic<int> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      // Only a sum, read after join().
      if (client(i)) succeeded.fetch_add(1, std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return succeeded.load(std::memory_order_relaxed);
}

}  // namespace

TEST_CASE("server: many clients at once each get their own answers",
          "[viewer][http]") {
  constexpr int kClients = 16, kRequests = 40;
  std::atomic<int> handled{0};
  Running running({.threads = 4}, [&handled](const HttpRequest& request) {
    handled.fetch_add(1, std::memory_order_relaxed);  // a sum
    return Echo(request);
  });
  const int succeeded = InThreads(kClients, [&](int client) {
    HttpClient connection(running.port());
    if (!connection.is_connected()) return false;
    for (int i = 0; i < kRequests; ++i) {
      const std::string target = "/" + std::to_string(client);
      const std::string body(static_cast<std::size_t>(i) * 997 % 20'000, 'x');
      connection.Send(Post(target, body));
      const HttpAnswer answer = connection.ReadAnswer();
      if (answer.status != 200) return false;
      if (answer.body != "POST " + target + " " + body) return false;
    }
    return true;
  });
  CHECK(succeeded == kClients);
  running.Stop();
  CHECK(handled == kClients * kRequests);
}

TEST_CASE("server: the handler runs on as many threads as the limit states",
          "[viewer][http]") {
  constexpr int kThreads = 3;
  std::mutex mutex;
  std::condition_variable all_in;
  int inside = 0;
  // Each call returns when all are inside.
  Running running({.threads = kThreads}, [&](const HttpRequest& request) {
    std::unique_lock lock(mutex);
    ++inside;
    all_in.notify_all();
    all_in.wait_for(lock, std::chrono::seconds(20),
                    [&] { return inside >= kThreads; });
    return Echo(request);
  });
  CHECK(InThreads(kThreads, [&](int) {
          return Exchange(running.port(),
                          "GET / HTTP/1.1\r\nHost: a\r\n"
                          "Connection: close\r\n\r\n")
                     .status == 200;
        }) == kThreads);
  running.Stop();
  CHECK(inside == kThreads);
}

TEST_CASE("server: requests sent together are answered in their order",
          "[viewer][http]") {
  Running running({});
  HttpClient client(running.port());
  REQUIRE(client.is_connected());
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += Post("/" + std::to_string(i), "b");
  client.Send(requests);
  for (int i = 0; i < 50; ++i) {
    CHECK(client.ReadAnswer().body == "POST /" + std::to_string(i) + " b");
  }
  client.Send("HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n");
  const HttpAnswer head = client.ReadAnswer(/*head_only=*/true);
  CHECK(head.head.find("\r\nContent-Length: 11") != std::string::npos);
  client.Send(kGet);  // directly behind the head
  CHECK(client.ReadAnswer().body == "GET / ");
}

TEST_CASE("server: the handler gets the fields that a guard reads",
          "[viewer][http]") {
  Running running({}, [](const HttpRequest& r) {
    HttpResponse response;
    response.status = 418;
    response.content_type = "text/x-fields";
    response.headers = {{"X-More", "yes"}};
    response.body = r.host + "|" + r.origin + "|" + r.cookie + "|" +
                    r.authorization + "|" + r.content_type + "|" + r.fetch_site;
    return response;
  });
  const HttpAnswer answer = Exchange(
      running.port(),
      "GET / HTTP/1.1\r\nhost: h\r\nOrigin: o\r\nCookie: c\r\nAuthorization: "
      "a\r\nContent-Type: t\r\nSec-Fetch-Site: s\r\nConnection: close\r\n\r\n");
  CHECK(answer.status == 418);
  CHECK(answer.body == "h|o|c|a|t|s");
  CHECK(answer.head.find("\r\nContent-Type: text/x-fields") !=
        std::string::npos);
  CHECK(answer.head.find("\r\nX-More: yes") != std::string::npos);
}

TEST_CASE("server: head and body have limits", "[viewer][http]") {
  Running running({.header_bytes = 2048, .body_bytes = 5000});
  const std::uint16_t port = running.port();
  const auto with_line = [&](std::size_t bytes) {
    return Exchange(port,
                    "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " +
                        std::string(bytes, 'x') + "\r\n\r\n")
        .status;
  };
  CHECK(with_line(1900) == 200);
  CHECK(with_line(2048) == 431);
  CHECK(with_line(1'000'000) == 431);
  const auto with_body = [&](std::size_t bytes) {
    HttpClient client(port);
    client.Send(Post("/", std::string(bytes, 'b')));
    return client.ReadAnswer().status;
  };
  CHECK(with_body(5000) == 200);
  CHECK(with_body(5001) == 413);
  CHECK(with_body(900'000) == 413);
  // Chunks have no length that could be refused ahead.
  std::string chunks =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  for (int i = 0; i < 60; ++i)
    chunks += "64\r\n" + std::string(100, 'c') + "\r\n";
  CHECK(Exchange(port, chunks + "0\r\n\r\n").status == 413);
}

TEST_CASE("server: what is not a request is refused, and the next is served",
          "[viewer][http]") {
  Running running({.timeout_seconds = 5});
  for (const std::string& bytes : {
           std::string("\r\n\r\n\r\n"),
           std::string("\x16\x03\x01\x02 TLS\r\n\r\n"),
           std::string(300, '\0'),
           std::string("GET\r\n\r\n"),
           std::string("GET / HTTP/9.9\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string(
               "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: "
                       "99999999999999999999\r\n\r\n"),
           std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                       "chunked\r\n\r\nzz\r\n"),
       }) {
    CAPTURE(bytes);
    CHECK(Exchange(running.port(), bytes).status == 400);
  }
  HttpClient client(running.port());
  client.Send(kGet);
  CHECK(client.ReadAnswer().status == 200);
}

TEST_CASE("server: above the limit of connections the newest is closed",
          "[viewer][http]") {
  constexpr int kConnections = 4;
  Running running({.connections = kConnections});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<HttpClient>(running.port()));
    clients.back()->Send(kGet);
    CHECK(clients.back()->ReadAnswer().status == 200);
  }
  HttpClient refused(running.port());
  CHECK(refused.ReadToEnd() == "");
  for (auto& client : clients) {  // those inside are not concerned
    client->Send(kGet);
    CHECK(client->ReadAnswer().status == 200);
  }
  // Its place is free a moment after it closes.
  clients.pop_back();
  int status = 0;
  for (int attempt = 0; attempt < 1000 && status != 200; ++attempt) {
    HttpClient next(running.port());
    next.Send(kGet);
    status = next.ReadAnswer().status;
    if (status != 200) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  CHECK(status == 200);
}

TEST_CASE("server: connections that ask nothing make place", "[viewer][http]") {
  constexpr int kConnections = 8;
  // The answer to /no is that of a guard.
  Running running({.connections = kConnections},
                  [](const HttpRequest& request) {
                    HttpResponse response = Echo(request);
                    if (request.target == "/no") response.status = 401;
                    return response;
                  });
  HttpClient known(running.port());
  known.Send(kGet);
  REQUIRE(known.ReadAnswer().status == 200);
  std::vector<std::unique_ptr<HttpClient>> strangers;
  for (int i = 0; i < 3 * kConnections; ++i) {
    strangers.push_back(std::make_unique<HttpClient>(running.port()));
    strangers.back()->Send(i % 2 == 0 ? "GET /no HTTP/1.1\r\nHost: a\r\n\r\n"
                                      : "GET / HTTP/1.1\r\n");
  }
  HttpClient next(running.port());
  next.Send(kGet);
  CHECK(next.ReadAnswer().status == 200);
  known.Send(kGet);
  CHECK(known.ReadAnswer().status == 200);
}

TEST_CASE("server: a client that sends too little is disconnected",
          "[viewer][http]") {
  // The second limit would end the test only after its clients' 20 s.
  Running running({.timeout_seconds = 60, .stranger_timeout_seconds = 1});
  HttpClient silent(running.port()), slow(running.port());
  slow.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234");
  CHECK(silent.ReadToEnd() == "");
  CHECK(slow.ReadToEnd() == "");
}

TEST_CASE("server: clients that go away at any point do no harm",
          "[viewer][http]") {
  Running running({.connections = 200});
  const std::string request = Post("/away", std::string(300, 'b'));
  const int succeeded = InThreads(4, [&](int thread) {
    for (std::size_t bytes = static_cast<std::size_t>(thread);
         bytes <= request.size(); bytes += 7) {
      HttpClient client(running.port());
      if (!client.is_connected()) return false;
      client.Send(std::string_view(request).substr(0, bytes));
    }
    return true;
  });
  CHECK(succeeded == 4);
  HttpClient client(running.port());
  client.Send(kGet);
  CHECK(client.ReadAnswer().status == 200);
}

TEST_CASE("server: Stop ends it whatever its clients are doing",
          "[viewer][http]") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> answers{0};
    auto running = std::make_unique<Running>(HttpLimits{.threads = 3});
    const std::uint16_t port = running->port();
    HttpClient idle(port), half(port);
    half.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Le");
    std::thread busy([&answers, port] {
      InThreads(4, [&answers, port](int) {
        HttpClient client(port);
        while (client.is_connected()) {
          client.Send(kGet);
          if (client.ReadAnswer().status != 200) return true;
          answers.fetch_add(1, std::memory_order_relaxed);  // a sum
        }
        return false;
      });
    });
    // At another point of their exchanges in each round.
    while (answers < round % 10 * 10) std::this_thread::yield();
    std::thread second([&running] { running->server().Stop(); });
    running->Stop();
    second.join();
    // Its sockets live as long as the server.
    running.reset();
    CHECK(idle.ReadToEnd() == "");
    CHECK(half.ReadToEnd() == "");
    busy.join();
  }
}

TEST_CASE("server: stopped before it runs, it does not run", "[viewer][http]") {
  auto server = HttpServer::Listen(0, {});
  REQUIRE(server.ok());
  (*server)->Stop();
  (*server)->Run(Echo, /*stop_on_signals=*/false);
  CHECK((*server)->port() != 0);
}

TEST_CASE("server: a port in use is UNAVAILABLE, with the remedy",
          "[viewer][http]") {
  auto first = HttpServer::Listen(0, {});
  REQUIRE(first.ok());
  const auto second = HttpServer::Listen((*first)->port(), {});
  CHECK(absl::IsUnavailable(second.status()));
  CHECK(second.status().message().find("or 0 for any free one") !=
        std::string::npos);
}

}  // namespace countrace::viewer
