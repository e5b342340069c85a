#include "tests/viewer/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace countrace::viewer {
namespace {

constexpr char kEndOfHead[] = "\r\n\r\n";

// Status and head of an answer; status 0 if `head` is not one.
HttpAnswer ParseHead(std::string head) {
  HttpAnswer answer;
  if (head.rfind("HTTP/1.1 ", 0) != 0) return answer;
  answer.status = std::atoi(head.c_str() + 9);
  answer.head = std::move(head);
  return answer;
}

std::size_t ContentLength(const std::string& head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string::npos) return 0;
  return std::strtoul(head.c_str() + at + kName.size(), nullptr, 10);
}

}  // namespace

HttpClient::HttpClient(std::uint16_t port)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(descriptor_, SOL_SOCKET, option, &patience, sizeof(patience));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
}

HttpClient::~HttpClient() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void HttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool HttpClient::ReadMore() {
  char buffer[65536];
  const ssize_t got = ::recv(descriptor_, buffer, sizeof(buffer), 0);
  timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (got <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

HttpAnswer HttpClient::ReadAnswer(bool head_only) {
  std::size_t end;
  while ((end = received_.find(kEndOfHead)) == std::string::npos) {
    if (!ReadMore()) return {};
  }
  HttpAnswer answer = ParseHead(received_.substr(0, end));
  received_.erase(0, end + 4);
  const std::size_t bytes = head_only ? 0 : ContentLength(answer.head);
  while (received_.size() < bytes) {
    if (!ReadMore()) return {};
  }
  answer.body = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return answer;
}

std::optional<std::string> HttpClient::ReadToEnd() {
  while (ReadMore()) continue;
  if (timed_out_) return std::nullopt;
  return std::move(received_);
}

HttpAnswer Exchange(std::uint16_t port, std::string_view bytes) {
  HttpClient client(port);
  if (!client.is_connected()) return {};
  client.Send(bytes);
  const std::string reply = client.ReadToEnd().value_or("");
  const std::size_t end = reply.find(kEndOfHead);
  if (end == std::string::npos) return {};
  HttpAnswer answer = ParseHead(reply.substr(0, end));
  if (answer.status != 0) answer.body = reply.substr(end + 4);
  return answer;
}

}  // namespace countrace::viewer
