// A client of the server under test: one connection to 127.0.0.1, bytes sent
// unchanged. It waits at most 20 s for anything, so no test hangs. No Catch2
// here: clients run in threads, and its assertions do not.
#ifndef COUNTRACE_TESTS_VIEWER_HTTP_CLIENT_H_
#define COUNTRACE_TESTS_VIEWER_HTTP_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::viewer {

struct HttpAnswer {
  int status = 0;  // 0: the server closed without a whole answer
  std::string head, body;
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool is_connected() const { return descriptor_ >= 0; }
  // Stops early if the server rejects in the middle.
  void Send(std::string_view bytes);
  // The next answer, as long as its Content-Length. `head_only`: to a HEAD.
  HttpAnswer ReadAnswer(bool head_only = false);
  // What comes before the end of the connection; empty if it does not end.
  std::optional<std::string> ReadToEnd();

 private:
  // Returns false at the end of the connection, or after 20 s.
  bool ReadMore();

  int descriptor_;
  bool timed_out_ = false;
  std::string received_;
};

// Sends `bytes` on a new connection, reads until the server closes it.
HttpAnswer Exchange(std::uint16_t port, std::string_view bytes);

}  // namespace countrace::viewer

#endif  // COUNTRACE_TESTS_VIEWER_HTTP_CLIENT_H_
