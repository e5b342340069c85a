// A host of several that ask each other: `rpc:call` where a request is sent,
// `rpc:handle` where it is received, both with the request's number, by which
// `countrace report --pairs rpc:call.arg0,rpc:handle.arg0` finds the clocks.
//
//   three_hosts NUMBER PORT REQUESTS ADDRESS...
//
// Answers at PORT of all its addresses; calls each ADDRESS in turn, REQUESTS
// times; ends when it has its answers and each other host has ended. NUMBER is
// the host's: request numbers are NUMBER * 2^32 and up. Prints how many
// requests it sent and handled.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <countrace/hooks.h>

namespace {

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Returns: false at the end of the connection.
bool ReadNumber(int socket, std::uint64_t& number) {
  const ssize_t size = recv(socket, &number, sizeof number, MSG_WAITALL);
  if (size < 0) Fail("recv");
  return size == static_cast<ssize_t>(sizeof number);
}
void WriteNumber(int socket, std::uint64_t number) {
  if (send(socket, &number, sizeof number, MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sizeof number)) {
    Fail("send");
  }
}

int Listen(std::uint16_t port) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) ||
      listen(server, 16)) {
    Fail("listen");
  }
  return server;
}

int Connect(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  for (int tries = 0; tries < 600; ++tries) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, reinterpret_cast<sockaddr*>(&address),
                sizeof address) == 0) {
      const int on = 1;
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return client;
    }
    close(client);
    usleep(50'000);  // the other host has not begun
  }
  Fail("connect");
}

// One connection, until the other host ends it.
void Serve(int client, std::uint64_t& handled) {
  std::uint64_t request = 0;
  while (ReadNumber(client, request)) {
    COUNTRACE_SEGMENT("rpc", "handle", request);
    ++handled;
    WriteNumber(client, request);
  }
  close(client);
}

void Ask(int server, std::uint64_t request) {
  COUNTRACE_SEGMENT("rpc", "call", request);
  WriteNumber(server, request);
  std::uint64_t answer = 0;
  if (!ReadNumber(server, answer) || answer != request) Fail("answer");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: three_hosts NUMBER PORT REQUESTS ADDRESS...\n");
    return 2;
  }
  const std::uint64_t number = std::strtoull(argv[1], nullptr, 10);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const std::uint64_t requests = std::strtoull(argv[3], nullptr, 10);
  const std::vector<std::string> others(argv + 4, argv + argc);

  const int server = Listen(port);
  std::vector<std::uint64_t> handled(others.size());
  std::thread serving([&] {
    std::vector<std::thread> connections;
    for (std::uint64_t& count : handled) {
      const int client = accept(server, nullptr, nullptr);
      if (client < 0) Fail("accept");
      connections.emplace_back(Serve, client, std::ref(count));
    }
    for (std::thread& connection : connections) connection.join();
  });
  std::vector<int> servers;
  for (const std::string& other : others) {
    servers.push_back(Connect(other, port));
  }
  std::uint64_t sent = 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    for (const int other : servers) Ask(other, (number << 32) + sent++);
  }
  for (const int other : servers) close(other);
  serving.join();
  std::uint64_t all = 0;
  for (const std::uint64_t count : handled) all += count;
  std::printf("sent %llu handled %llu\n", static_cast<unsigned long long>(sent),
              static_cast<unsigned long long>(all));
}
